import { useLayoutEffect } from 'preact/hooks'
import { guardLeaving } from './router.ts'

/** Asks before what is typed is left behind: for another page of the console, with Back, or with the tab. `question` undefined asks nothing. */
export function useLeavingGuard(question: string | undefined): void {
  useLayoutEffect(() => {
    if (question === undefined) return undefined
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    const stop = guardLeaving(() => question)
    return () => {
      removeEventListener('beforeunload', ask)
      stop()
    }
  }, [question])
}
