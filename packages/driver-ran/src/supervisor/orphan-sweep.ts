import type { Context } from '@steeple/contracts'
import { endContainer } from '../container/container-radio.ts'
import { radioContainer } from '../container/radio-container.ts'
import { endOrphans } from '../process/orphans.ts'

/** Ends what an earlier run of the service has left behind. */
export interface OrphanSweep {
  /**
   * Kills processes of this directory, and what runs in the container. Does nothing once that was done.
   *
   * Throws `southbound_unavailable` when it cannot be confirmed; then the next call tries.
   */
  run(): Promise<void>
  /** Why the last call could not confirm it: something may be on air. */
  readonly failure: string | undefined
}

/** Makes a sweep that has done nothing yet. */
export function orphanSweep(context: Pick<Context, 'settings' | 'log'>, directory: string): OrphanSweep {
  let hasSwept = false
  let failure: string | undefined
  const sweep = async (): Promise<number> => {
    const ended = await endOrphans(directory)
    const { ran, hss } = context.settings
    if (ran.container === '') return ended
    return (await endContainer(radioContainer(hss.engine_socket, ran.container))) ? ended + 1 : ended
  }
  return {
    get failure() {
      return failure
    },
    run: async () => {
      if (hasSwept) return
      try {
        const ended = await sweep()
        hasSwept = true
        failure = undefined
        if (ended > 0)
          context.log.warn({ radios: ended }, 'radio of an earlier run was still there and has been killed')
      } catch (error) {
        failure = error instanceof Error ? error.message : String(error)
        throw error
      }
    },
  }
}
