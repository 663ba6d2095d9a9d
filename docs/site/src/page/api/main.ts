import MiniSearch from 'minisearch'
import { byId, h, prose, sample } from '../dom.ts'
import { type Hit, startMenu, startSearch } from '../frame.ts'
import { INDEX_OPTIONS, type Passage } from '../search-options.ts'
import { operationView, type Surroundings } from './operation-view.ts'
import {
  type ApiDocument,
  documentFrom,
  type ErrorCode,
  type Group,
  type Json,
  objectOf,
} from './operations.ts'
import { createCredential } from './token.ts'

/** Operations come before error codes that have the same word in their name. */
const OF_ERRORS = 0.1

void start()

async function start(): Promise<void> {
  const content = byId('content')
  try {
    const answer = await fetch('../v1/openapi.json')
    if (!answer.ok) throw new Error(`it answered ${answer.status}`)
    show(documentFrom((await answer.json()) as Json), content)
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown'
    content.replaceChildren(
      h('h1', {}, 'The document could not be read'),
      h('p', {}, `${why}. Is the service running? Reload to try again.`),
    )
  }
}

function show(api: ApiDocument, content: HTMLElement): void {
  const around: Surroundings = {
    credential: createCredential(),
    codes: new Map(api.codes.map((code) => [code.code, code])),
  }
  byId('version').textContent = api.version
  byId('nav').replaceChildren(...navigation(api))
  content.replaceChildren(
    startView(api),
    ...api.groups.map((group) => groupView(group, around)),
    codesView(api.codes),
  )
  startSearch(searchOf(api))
  startMenu()
  addEventListener('hashchange', () => goTo(location.hash))
  // The same address again: no hashchange comes.
  byId('nav').addEventListener('click', ({ target }) => {
    if (target instanceof HTMLAnchorElement && target.getAttribute('href') === location.hash)
      goTo(location.hash)
  })
  goTo(location.hash)
}

function navigation({ groups }: ApiDocument): readonly HTMLElement[] {
  return [
    h('a', { href: '#start' }, 'Start here'),
    ...groups.map((group) =>
      h(
        'details',
        {},
        h('summary', {}, group.name),
        group.operations.map(({ id, summary }) => h('a', { href: `#${id}` }, summary)),
      ),
    ),
    h('a', { href: '#errors' }, 'Error codes'),
  ]
}

function startView({ groups }: ApiDocument): HTMLElement {
  const origin = location.origin
  return h(
    'section',
    { id: 'start' },
    h('h1', {}, 'What do you want to do?'),
    h(
      'p',
      {},
      'This is the API of the box that serves this page, as it runs now. Everything here can be tried on the spot.',
    ),
    h(
      'ul',
      { class: 'cards' },
      groups.map((group) =>
        h(
          'li',
          {},
          h(
            'a',
            { href: `#${anchorOf(group)}` },
            h('strong', {}, group.name),
            h('span', {}, group.description),
          ),
        ),
      ),
    ),
    h('h2', {}, 'Four things to know'),
    fact(
      'Who you are.',
      'Send `Authorization: Bearer <token>`. Tokens have roles; each operation names those that open it.',
    ),
    sample(
      `export SVC_TOKEN=svc_…\ncurl ${origin}/v1/status -H "Authorization: Bearer $SVC_TOKEN"`,
      'the first request',
    ),
    fact(
      'Lists.',
      '`limit` is 1 to 500. While `next_cursor` is not null, send it as `cursor` with the same filters.',
    ),
    fact(
      'Changes.',
      'Send an `Idempotency-Key` with each: repeated with the same key, the request answers the first result and changes nothing.',
    ),
    fact(
      'Errors.',
      'All have one shape: act on `code`, show `message` to people. Each answer has an `X-Request-Id`, which is in the log and the audit trail too.',
    ),
    sample(
      JSON.stringify(
        {
          error: {
            code: 'sim_not_found',
            message: 'there is no SIM 0123456789ab; look for it in the list of SIMs',
          },
        },
        undefined,
        2,
      ),
      'an error',
    ),
    h(
      'p',
      { class: 'quiet' },
      h('a', { href: '#errors' }, 'All error codes'),
      '. Machines read the same document: ',
      h('a', { href: '../v1/openapi.json' }, 'openapi.json'),
      ' (OpenAPI 3.1).',
    ),
  )
}

function fact(title: string, text: string): HTMLElement {
  return h('p', {}, h('strong', {}, title), ' ', prose(text))
}

function groupView(group: Group, around: Surroundings): HTMLElement {
  return h(
    'section',
    { id: anchorOf(group), 'aria-label': group.name },
    h('h2', {}, group.name),
    h('p', { class: 'quiet' }, group.description),
    group.operations.map((operation) => operationView(operation, around)),
  )
}

function codesView(codes: readonly ErrorCode[]): HTMLElement {
  return h(
    'section',
    { id: 'errors' },
    h('h2', {}, 'Error codes'),
    h(
      'p',
      { class: 'quiet' },
      'Codes keep their meaning within v1; new ones may come. The sign … stands for a value.',
    ),
    h(
      'dl',
      { class: 'codes' },
      codes.map(({ code, status, meaning }) =>
        h(
          'div',
          { id: `error-${code}` },
          h('dt', { class: 'status' }, String(status)),
          h('dd', {}, h('code', {}, code)),
          h('dd', { class: 'quiet' }, meaning),
        ),
      ),
    ),
  )
}

function anchorOf(group: Group): string {
  return `group-${group.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
}

/** Opens what the address names, and shows where it is. */
function goTo(hash: string): void {
  const target = document.getElementById(decodeURIComponent(hash.slice(1)))
  for (const link of document.querySelectorAll('nav a')) {
    const isHere = link.getAttribute('href') === hash
    link.toggleAttribute('aria-current', isHere)
    const group = link.closest('details')
    if (isHere && group !== null) group.open = true
  }
  if (target === null) return
  if (target instanceof HTMLDetailsElement) {
    target.open = true
    target.querySelector('summary')?.focus({ preventScroll: true })
  }
  target.scrollIntoView()
}

/** Finds operations by their words, paths and fields, and error codes. */
function searchOf({ groups, codes }: ApiDocument): (wanted: string) => Promise<readonly Hit[]> {
  const index = new MiniSearch<Passage>(INDEX_OPTIONS)
  const badges = new Map<string, Hit['badge']>()
  for (const { id, method, path, group, summary, ...operation } of groups.flatMap((one) => one.operations)) {
    const names = [
      ...operation.parameters.map(({ name }) => name),
      ...namesIn(operation.bodySchema),
      ...namesIn(operation.answerSchema),
    ]
    const text = [method, group, ...names, operation.description].join(' ')
    index.add({ id: `#${id}`, title: summary, page: path, text })
    badges.set(`#${id}`, [method, method])
  }
  for (const { code, status, meaning } of codes) {
    index.add({ id: `#error-${code}`, title: code, page: meaning, text: String(status) })
    badges.set(`#error-${code}`, [String(status), ''])
  }
  const boostDocument = (id: string): number => (id.startsWith('#error-') ? OF_ERRORS : 1)
  return async (wanted) =>
    index.search(wanted, { boostDocument }).map(({ id, title, page }) => {
      const badge = badges.get(id)
      return { href: id, title: String(title), note: String(page), ...(badge && { badge }) }
    })
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
