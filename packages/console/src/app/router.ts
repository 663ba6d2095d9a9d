import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

interface Place {
  readonly path: string
  readonly query: URLSearchParams
}

const here = signal<Place>(read())

/** The path of the page that is shown. */
export const path: ReadonlySignal<string> = computed(() => here.value.path)

export const query: ReadonlySignal<URLSearchParams> = computed(() => here.value.query)

/** What may say no before the reader leaves a page: text to ask with, or undefined. */
let guard: (() => string | undefined) | undefined

/** Goes to a page of the console, `replace` without a step in the history. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (!replace && !mayLeave()) return
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  here.value = read()
  if (!replace) scrollTo(0, 0)
}

/** Whether the reader leaves the page: they are asked where something is lost by it. */
function mayLeave(): boolean {
  const question = guard?.()
  if (question !== undefined && !confirm(question)) return false
  guard = undefined
  return true
}

/** Asks before the page is left while `ask` gives a text; gives back how to stop asking. */
export function guardLeaving(ask: () => string | undefined): () => void {
  guard = ask
  return () => {
    if (guard === ask) guard = undefined
  }
}

/** The value of a filter in the address; empty when there is none. */
export function filter(name: string): string {
  return query.value.get(name) ?? ''
}

/** Puts filters into the address; an empty one leaves it. `isStep`: the button Back takes them away again. */
export function setFilters(
  filters: Readonly<Record<string, string | undefined>>,
  { isStep = false }: { readonly isStep?: boolean } = {},
): void {
  const next = new URLSearchParams(query.value)
  for (const [name, value = ''] of Object.entries(filters)) {
    if (value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  navigate(`${path.value}${text === '' ? '' : `?${text}`}`, { replace: !isStep })
}

/** What a path has in the places of a pattern, `/sims/:hash`; undefined when it does not fit. */
export function match(pattern: string, asked: string): Readonly<Record<string, string>> | undefined {
  const [parts, given] = [pattern.split('/'), asked.replace(/(.)\/$/, '$1').split('/')]
  if (parts.length !== given.length) return undefined
  const found: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const value = given[index] ?? ''
    if (part.startsWith(':') && value !== '') {
      const meant = decoded(value)
      if (meant === undefined) return undefined
      found[part.slice(1)] = meant
    } else if (part !== value) return undefined
  }
  return found
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Follows links to pages of the console without loading anything; `isPage` says which they are. */
export function followLinks(isPage: (path: string) => boolean): void {
  addEventListener('popstate', () => {
    const { path: from, query: filters } = here.peek()
    // The address is the other one already: who stays gets that of the page back.
    if (location.pathname === from || mayLeave()) here.value = read()
    else history.pushState(null, '', `${from}${filters.size === 0 ? '' : `?${filters}`}`)
  })
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
    if (link === null || !isPlain || event.defaultPrevented || link.target !== '' || link.download !== '')
      return
    const url = new URL(link.href, location.href)
    if (
      url.origin !== location.origin ||
      !isPage(url.pathname) ||
      (url.hash !== '' && url.pathname === location.pathname)
    )
      return
    event.preventDefault()
    navigate(url.pathname + url.search)
  })
}

function read(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) }
}

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
