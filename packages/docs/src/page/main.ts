import MiniSearch from 'minisearch'
import { INDEX_OPTIONS, type Passage } from './search-options.ts'

declare global {
  /** What `search-index.js` leaves here. */
  var steepleIndex: string | undefined
}

const MOST_SHOWN = 12
/** The folder of the site, as seen from this page. */
const root = document.currentScript?.dataset.root ?? '.'

startMenu()
startSearch()
// Beside the service is the page of its API, beside files nothing.
byId('api').hidden = !location.protocol.startsWith('http')

/** On a phone the list of pages is behind a button. */
function startMenu(): void {
  const menu = byId('menu')
  const nav = byId('nav')
  const setOpen = (isOpen: boolean): void => {
    nav.classList.toggle('is-open', isOpen)
    menu.setAttribute('aria-expanded', String(isOpen))
  }
  menu.addEventListener('click', () => setOpen(!nav.classList.contains('is-open')))
  nav.addEventListener('click', (event) => {
    if (event.target instanceof HTMLAnchorElement) setOpen(false)
  })
  addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && nav.classList.contains('is-open')) {
      setOpen(false)
      menu.focus()
    }
  })
  // In a long list the page itself is in sight.
  nav.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
}

/** `/` goes to the search, arrows choose, Enter opens, Escape leaves. The index is loaded at the first use. */
function startSearch(): void {
  const field = byId<HTMLInputElement>('search')
  const hits = byId('hits')
  let index: Promise<MiniSearch<Passage>> | undefined
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
    index ??= loadIndex()
    const wanted = field.value.trim()
    const found = (await index).search(wanted).slice(0, MOST_SHOWN)
    // Somebody may have typed on while the index was loaded.
    if (wanted !== field.value.trim()) return
    const nothing = document.createElement('p')
    nothing.textContent = `Nothing has “${wanted}” in it.`
    hits.replaceChildren(...(found.length === 0 && wanted !== '' ? [nothing] : found.map(hitView)))
    setOpen(wanted !== '')
    choose(0)
  }
  const leave = (): void => {
    field.value = ''
    setOpen(false)
  }
  field.addEventListener('input', () => void show())
  field.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) choose(chosen + step)
    else if (event.key === 'Enter') hits.querySelectorAll('a')[chosen]?.click()
    else if (event.key === 'Escape') leave()
    else return
    event.preventDefault()
  })
  hits.addEventListener('click', leave)
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || document.activeElement === field) return
    event.preventDefault()
    field.focus()
  })
  addEventListener('click', ({ target }) => {
    if (target instanceof Node && !hits.contains(target) && target !== field) setOpen(false)
  })
}

function hitView(found: { readonly [key: string]: unknown }, at: number): HTMLAnchorElement {
  const link = document.createElement('a')
  link.id = `hit-${at}`
  link.href = `${root}/${String(found.id)}`
  link.setAttribute('role', 'option')
  const title = document.createElement('span')
  title.textContent = String(found.title)
  const page = document.createElement('small')
  page.textContent = String(found.page)
  link.append(title, page)
  return link
}

/** A script, since a page that is read as a file may load nothing else. */
function loadIndex(): Promise<MiniSearch<Passage>> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = `${root}/search-index.js`
    script.addEventListener('load', () =>
      resolve(MiniSearch.loadJSON(globalThis.steepleIndex ?? '', INDEX_OPTIONS)),
    )
    script.addEventListener('error', () => reject(new Error('the index of the search could not be loaded')))
    document.head.append(script)
  })
}

function byId<Kind extends HTMLElement>(id: string): Kind {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no ${id}`)
  // The layout says which kind of element it is.
  return element as Kind
}
