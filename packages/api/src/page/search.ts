import { byId, h } from './dom.ts'
import type { ApiDocument, Json, Operation } from './operations.ts'
import { objectOf } from './operations.ts'

const MOST_SHOWN = 12

interface Entry {
  readonly href: string
  readonly badge: string
  readonly badgeClass: string
  readonly title: string
  readonly note: string
  /** What it is found by, the weightiest first. */
  readonly texts: readonly string[]
}

/** The search field: `/` goes there, arrows choose, Enter opens, Escape leaves. */
export function startSearch(api: ApiDocument): void {
  const field = byId<HTMLInputElement>('search')
  const hits = byId('hits')
  const entries = entriesOf(api)
  let chosen = 0
  const show = (): void => {
    const found = find(entries, field.value)
    chosen = 0
    hits.replaceChildren(
      ...found.map((entry, index) => hitView(entry, index)),
      ...(found.length === 0 && field.value.trim() !== ''
        ? [h('p', {}, `Nothing has “${field.value.trim()}” in it.`)]
        : []),
    )
    setOpen(field.value.trim() !== '')
    choose(0)
  }
  const setOpen = (isOpen: boolean): void => {
    hits.hidden = !isOpen
    field.setAttribute('aria-expanded', String(isOpen))
  }
  const choose = (index: number): void => {
    const links = [...hits.querySelectorAll('a')]
    chosen = links.length === 0 ? 0 : (index + links.length) % links.length
    for (const [at, link] of links.entries()) {
      link.classList.toggle('is-chosen', at === chosen)
      link.setAttribute('aria-selected', String(at === chosen))
    }
    const link = links[chosen]
    link?.scrollIntoView({ block: 'nearest' })
    if (link === undefined) field.removeAttribute('aria-activedescendant')
    else field.setAttribute('aria-activedescendant', link.id)
  }
  const leave = (): void => {
    field.value = ''
    setOpen(false)
  }
  field.addEventListener('input', show)
  field.addEventListener('focus', () => field.value !== '' && setOpen(true))
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
  document.addEventListener('click', (event) => {
    if (event.target instanceof Node && !hits.contains(event.target) && event.target !== field) setOpen(false)
  })
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    field.focus()
  })
}

function hitView(entry: Entry, index: number): HTMLElement {
  return h(
    'a',
    { href: entry.href, role: 'option', id: `hit-${index}`, tabindex: '-1' },
    h('span', { class: `method ${entry.badgeClass}` }, entry.badge),
    h('span', {}, entry.title),
    h('small', {}, entry.note),
  )
}

function entriesOf({ groups, codes }: ApiDocument): readonly Entry[] {
  const operations = groups.flatMap((group) => group.operations.map(operationEntry))
  const errors = codes.map(({ code, status, meaning }) => ({
    href: `#error-${code}`,
    badge: String(status),
    badgeClass: '',
    title: code,
    note: meaning,
    // After the operations that have the same word in their name or path.
    texts: ['', '', code, meaning].map((text) => text.toLowerCase()),
  }))
  return [...operations, ...errors]
}

function operationEntry(operation: Operation): Entry {
  const names = [
    ...operation.parameters.map(({ name }) => name),
    ...namesIn(operation.bodySchema),
    ...namesIn(operation.answerSchema),
  ]
  return {
    href: `#${operation.id}`,
    badge: operation.method,
    badgeClass: operation.method,
    title: operation.summary,
    note: operation.path,
    texts: [
      operation.summary,
      `${operation.method} ${operation.path}`,
      operation.group,
      names.join(' '),
      operation.description,
    ].map((text) => text.toLowerCase()),
  }
}

/** The names of all properties at any depth. */
function namesIn(schema: Json | undefined): readonly string[] {
  if (schema === undefined) return []
  const own = Object.entries(objectOf(schema.properties)).flatMap(([name, value]) => [
    name,
    ...namesIn(objectOf(value)),
  ])
  const members = ['anyOf', 'oneOf', 'allOf'].flatMap((key) =>
    Array.isArray(schema[key]) ? (schema[key] as unknown[]) : [],
  )
  return [
    ...own,
    ...namesIn(schema.items === undefined ? undefined : objectOf(schema.items)),
    ...members.flatMap((one) => namesIn(objectOf(one))),
  ]
}

/** Entries that hold every word, those with the words in weightier places first. */
function find(entries: readonly Entry[], text: string): readonly Entry[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) return []
  const scored = entries.flatMap((entry) => {
    let score = 0
    for (const word of words) {
      const place = entry.texts.findIndex((one) => one.includes(word))
      if (place === -1) return []
      const isBeginning = entry.texts[place]?.split(/[\s/_-]/).some((part) => part.startsWith(word)) === true
      score += 10 * place + (isBeginning ? 0 : 5)
    }
    return [{ entry, score }]
  })
  return scored
    .sort((a, b) => a.score - b.score)
    .slice(0, MOST_SHOWN)
    .map(({ entry }) => entry)
}
