import { byId, h } from './dom.ts'

/** A line of what was found. */
export interface Hit {
  readonly href: string
  readonly title: string
  readonly note: string
  /** What stands before it, and its class. */
  readonly badge?: readonly [text: string, kind: string]
}

const MOST_SHOWN = 12

/** On a phone the list of pages is behind a button. */
export function startMenu(): void {
  const [menu, nav] = [byId('menu'), byId('nav')]
  const setOpen = (isOpen: boolean): void => {
    nav.classList.toggle('is-open', isOpen)
    menu.setAttribute('aria-expanded', String(isOpen))
  }
  menu.addEventListener('click', () => setOpen(!nav.classList.contains('is-open')))
  nav.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLAnchorElement) setOpen(false)
  })
  addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !nav.classList.contains('is-open')) return
    setOpen(false)
    menu.focus()
  })
  // In a long list the page itself is in sight.
  nav.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
}

/** `/` goes to the search, arrows choose, Enter opens, Escape leaves. */
export function startSearch(find: (wanted: string) => Promise<readonly Hit[]>): void {
  const field = byId<HTMLInputElement>('search')
  const hits = byId('hits')
  let chosen = 0
  const setOpen = (isOpen: boolean): void => {
    hits.hidden = !isOpen
    field.setAttribute('aria-expanded', String(isOpen))
  }
  const choose = (wanted: number): void => {
    const links = [...hits.querySelectorAll('a')]
    chosen = links.length === 0 ? 0 : (wanted + links.length) % links.length
    for (const [at, link] of links.entries()) {
      link.classList.toggle('is-chosen', at === chosen)
      link.setAttribute('aria-selected', String(at === chosen))
    }
    links[chosen]?.scrollIntoView({ block: 'nearest' })
    field.setAttribute('aria-activedescendant', links[chosen]?.id ?? '')
  }
  const show = async (): Promise<void> => {
    const wanted = field.value.trim()
    const found = wanted === '' ? [] : (await find(wanted)).slice(0, MOST_SHOWN)
    // Somebody may have typed on meanwhile.
    if (wanted !== field.value.trim()) return
    const nothing = h('p', {}, `Nothing has “${wanted}” in it.`)
    hits.replaceChildren(...(found.length === 0 ? [nothing] : found.map(hitView)))
    setOpen(wanted !== '')
    choose(0)
  }
  const leave = (): void => {
    field.value = ''
    setOpen(false)
  }
  field.addEventListener('input', () => void show())
  field.addEventListener('focus', () => setOpen(field.value !== ''))
  field.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) choose(chosen + step)
    else if (event.key === 'Enter') hits.querySelectorAll('a')[chosen]?.click()
    else if (event.key === 'Escape') leave()
    else return
    event.preventDefault()
  })
  hits.addEventListener('click', () => {
    leave()
    field.blur()
  })
  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    field.focus()
  })
  addEventListener('click', ({ target }) => {
    if (target instanceof Node && !hits.contains(target) && target !== field) setOpen(false)
  })
}

function hitView({ href, title, note, badge }: Hit, at: number): HTMLElement {
  return h(
    'a',
    { href, role: 'option', id: `hit-${at}`, tabindex: '-1' },
    badge === undefined ? undefined : h('span', { class: `method ${badge[1]}` }, badge[0]),
    h('span', {}, title),
    h('small', {}, note),
  )
}
