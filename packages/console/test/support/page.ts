import './hooks.ts'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { assert, type Suite } from '@steeple/testkit'
import { Window } from 'happy-dom'
import type { ComponentChildren } from 'preact'

/** A request that a page has sent. */
export interface Asked {
  readonly call: string
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly headers: Headers
}
/** What the service answers, by method and path: `GET /v1/users`. A `Refusal` is an error. */
export type Answers = Readonly<Record<string, object | ((asked: Asked) => object)>>

export class Refusal {
  readonly status: number
  readonly error: object
  constructor(status: number, code: string, message = code, details: readonly object[] = []) {
    this.status = status
    this.error = { code, message, details }
  }
}

const PACKAGES = new URL('../../../', import.meta.url)
/** What of a browser the console asks for, and Node has not or has otherwise. */
const NAMES = [
  ...['window', 'document', 'navigator', 'location', 'history', 'localStorage', 'sessionStorage', 'Node'],
  ...['Element', 'HTMLElement', 'HTMLInputElement', 'HTMLTextAreaElement', 'HTMLTableRowElement'],
  'CSSStyleSheet',
] as const
/** Elements whose texts belong to the sentence around them. */
const INLINE = /^(A|ABBR|B|CODE|DEL|EM|INS|KBD|SPAN|STRONG|TIME)$/

const window = new Window({ url: 'http://box.example/', settings: { disableErrorCapturing: true } })
// Browsers tell of the close of a dialog in a task of its own.
window.HTMLDialogElement.prototype.close = function close(): void {
  if (!this.hasAttribute('open')) return
  this.removeAttribute('open')
  setImmediate(() => this.dispatchEvent(new window.Event('close')))
}
let answers: Answers = {}
let asked: Asked[] = []
let pending = 0

const later = { setInterval, setTimeout }
const LONG_MS = 2_000
/** What a page does later: nothing of it is done on the next one. */
const timers = new Set<NodeJS.Timeout>()

function ofPage(timer: NodeJS.Timeout): NodeJS.Timeout {
  timers.add(timer)
  return timer
}

/** What stood there before, for what runs in this process next. */
const before = new Map<string, PropertyDescriptor | undefined>()

function browse(): void {
  const own = {
    ...Object.fromEntries(NAMES.map((name) => [name, Reflect.get(window, name) as unknown])),
    addEventListener: window.addEventListener.bind(window),
    removeEventListener: window.removeEventListener.bind(window),
    requestAnimationFrame: (work: () => void) => setImmediate(work),
    cancelAnimationFrame: clearImmediate,
    scrollTo: () => undefined,
    fetch: send,
    // A clock of a page ends with the test.
    setInterval: (work: () => void, ms: number) => ofPage(later.setInterval(work, ms).unref()),
    setTimeout: (work: () => void, ms = 0) => {
      const timer = later.setTimeout(work, ms)
      return ms > LONG_MS ? timer.unref() : ofPage(timer)
    },
  }
  for (const [name, value] of Object.entries(own)) {
    if (!before.has(name)) before.set(name, Object.getOwnPropertyDescriptor(globalThis, name))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  Object.defineProperty(window.navigator, 'languages', { value: ['en-GB'], configurable: true })
}

/** The service: what a test has given it to say. Texts are those of the files. */
async function send(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const url = new URL(String(input), 'http://box.example')
  if (url.pathname.startsWith('/v1/texts/')) return Response.json(textsOf(url.pathname.slice(-2)))
  const call = `${init.method ?? 'GET'} ${url.pathname}`
  const body = typeof init.body === 'string' && init.body !== '' ? JSON.parse(init.body) : undefined
  const one = { call, query: Object.fromEntries(url.searchParams), body, headers: new Headers(init.headers) }
  asked.push(one)
  return waitedFor(async () => {
    await turn()
    const known = answers[call]
    const answer = typeof known === 'function' ? await known(one) : known
    if (answer instanceof Response) return answer
    if (answer === undefined) return Response.json({ error: error404(call) }, { status: 404 })
    if (answer instanceof Refusal)
      return Response.json(
        { error: answer.error },
        { status: answer.status, headers: { 'x-request-id': 'r1' } },
      )
    return Response.json(answer)
  })
}

async function waitedFor<Made>(work: () => Promise<Made>): Promise<Made> {
  pending += 1
  try {
    return await work()
  } finally {
    pending -= 1
  }
}

function error404(call: string): object {
  return { code: 'not_found', message: `the test has no answer to ${call}`, details: [] }
}

function textsOf(language: string): object {
  const files = readdirSync(PACKAGES).map((name) => new URL(`${name}/texts/${language}.json`, PACKAGES))
  const others = files.filter((file) => existsSync(file) && !file.pathname.includes('/console/texts/'))
  return Object.assign({}, ...others.map((file) => JSON.parse(readFileSync(file, 'utf8'))))
}

browse()
// Hashes are made on other threads, and waited for like answers.
const digest = crypto.subtle.digest.bind(crypto.subtle)
crypto.subtle.digest = (...given) => waitedFor(() => digest(...given))
const { render, options, ...preact } = await import('preact')
/** For what is shown. */
export const { h } = preact
options.requestAnimationFrame = setImmediate
const { loadTexts } = await import('../../src/text/index.ts')
const { enterWithToken } = await import('../../src/api/session.ts')
const { plugins } = await import('../../src/api/features.ts')
const { followChanges } = await import('../../src/api/changes.ts')
const { PAGES } = await import('../../src/app/pages.ts')
const { knowPages } = await import('../../src/app/pages-here.ts')
const { match, navigate } = await import('../../src/app/router.ts')
const { Toasts } = await import('../../src/ui/toast.tsx')
// The frame reads what the browser keeps as soon as it is loaded.
await import('../../src/app/shell.tsx')
await loadTexts()
knowPages(PAGES)

const ALL = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin'] as const

/** What stands before somebody. */
export interface Screen {
  /** Answers from now on. */
  readonly answer: (more: Answers) => void
  /** Everything that was asked of the service. */
  readonly asked: () => readonly Asked[]
  /** Changes that were asked for since this was asked last: the call, and what was sent. */
  readonly changes: () => readonly (readonly [call: string, body: unknown])[]
  /** What stands there, of all or of the part with that name, a line for each block. */
  readonly text: (part?: string) => string
  /** The cells of each row of a table. */
  readonly rows: (table?: string) => readonly (readonly string[])[]
  /** The names of what can be pressed. */
  readonly buttons: (part?: string) => readonly string[]
  readonly press: (name: string, part?: string) => Promise<void>
  readonly field: (label: string) => HTMLInputElement
  /** What is said to be wrong with a field; empty: nothing. */
  readonly complaint: (label: string) => string
  /** Fills in, or chooses. */
  readonly put: (label: string, value: string) => Promise<void>
  readonly tick: (label: string) => Promise<void>
  /** What is to be ticked, and whether it is. */
  readonly ticks: () => readonly (readonly [label: string, isTicked: boolean])[]
  readonly isDisabled: (button: string) => boolean
  readonly escape: () => Promise<void>
  readonly key: (key: string) => Promise<void>
  /** Names of what can be filled in. */
  readonly labels: () => readonly string[]
  readonly choose: (label: string, file: File) => Promise<void>
  /** The name of the dialog that is open. */
  readonly dialog: () => string | undefined
  readonly focus: () => string
  readonly address: () => string
  readonly settled: () => Promise<void>
  /** The service tells of something that happened. */
  readonly happens: (type: string, subject: string) => Promise<void>
  /** The connection was lost, and is back. */
  readonly missed: () => Promise<void>
}

interface Around {
  readonly roles?: readonly string[] | undefined
  readonly runs?: readonly string[]
}

/** Opens the page at an address for who has these roles, and gives what stands there when it has come. */
export async function open(address: string, given: Answers, around: Around = {}): Promise<Screen> {
  browse()
  navigate(address, { replace: true })
  const path = window.location.pathname
  const page =
    PAGES.find((one) => one.path === path) ?? PAGES.find((one) => match(one.path, path) !== undefined)
  if (page === undefined) throw new Error(`no page at ${path}`)
  const { Page } = await page.load()
  return show(() => h(Page, { params: match(page.path, path) ?? {} }), given, around)
}

/** Shows something of the console or of a plugin, and gives what stands there when it has come. */
export async function show(
  draw: () => ComponentChildren,
  given: Answers = {},
  { roles = ALL, runs = [] }: Around = {},
): Promise<Screen> {
  browse()
  answers = { 'GET /v1/auth/me': { kind: 'token', name: 'test', roles } }
  assert.is(await enterWithToken('svc_test'), undefined)
  const running = runs.map((name) => ({ name, version: '1', pages: [], panels: panelsOf(name) }))
  // What is loaded already comes at once.
  await Promise.all(running.flatMap(({ panels }) => panels.map(({ module }) => import(`${module}#1`))))
  plugins.value = running as never
  await forget()
  const root = document.body
  render(null, root)
  for (const timer of timers) clearTimeout(timer)
  timers.clear()
  await settled()
  answers = given
  asked = []
  render(h('div', {}, h('main', {}, draw()), h(Toasts, {})), root)
  await settled()
  return SCREEN
}

function panelsOf(name: string): readonly { readonly module: string }[] {
  return JSON.parse(readFileSync(new URL(`${name}/package.json`, PACKAGES), 'utf8')).steeple.panels ?? []
}

/** Has a suite in this browser: other files of the same process may have left it, and come into it again. */
export function inBrowser({ before, after }: Suite): void {
  before(browse)
  after(leave)
}

/** Leaves the page, and the browser: nothing of it goes on. */
async function leave(): Promise<void> {
  await forget()
  render(null, document.body)
  await settled()
  for (const [name, own] of before) {
    if (own === undefined) Reflect.deleteProperty(globalThis, name)
    else Object.defineProperty(globalThis, name, own)
  }
  before.clear()
}

const SCREEN: Screen = {
  answer: (more) => {
    answers = { ...answers, ...more }
  },
  asked: () => asked,
  changes: () => {
    const made = asked.filter(({ call }) => !call.startsWith('GET '))
    asked = asked.filter(({ call }) => call.startsWith('GET '))
    return made.map(({ call, body }) => [call, body] as const)
  },
  text: (name) => textOf(partOf(name)),
  rows: (name) =>
    [...partOf(name).querySelectorAll('tbody tr')].map((row) =>
      [...row.querySelectorAll('td')].map((cell) => textOf(cell)),
    ),
  buttons: (name) => pressable(name).map(nameOf),
  isDisabled: (name) => buttonOf(name).getAttribute('aria-disabled') === 'true',
  escape: async () => {
    const Cancelled = Reflect.get(window, 'Event') as unknown as typeof Event
    document.querySelector('dialog[open]')?.dispatchEvent(new Cancelled('cancel', { cancelable: true }))
    await settled()
  },
  ticks: () =>
    [...document.querySelectorAll<HTMLInputElement>('input[type=checkbox]')].map((box) => [
      textOf(document.querySelector(`label[for="${box.id}"]`) ?? box),
      box.checked,
    ]),
  press: async (name, part) => {
    const button = buttonOf(name, part)
    button.focus()
    button.click()
    await settled()
  },
  field,
  complaint: (label) => document.getElementById(`${field(label).id}-error`)?.textContent ?? '',
  put: async (label, value) => {
    const line = field(label)
    line.value = value
    for (const type of ['input', 'change']) line.dispatchEvent(new (at('Event'))(type, { bubbles: true }))
    await settled()
  },
  tick: async (label) => {
    field(label).click()
    await settled()
  },
  labels: () => [...document.querySelectorAll('label')].map(textOf),
  choose: async (label, file) => {
    const line = field(label)
    Object.defineProperty(line, 'files', { value: [file], configurable: true })
    // A file is there: nothing can put one into this browser.
    line.required = false
    line.dispatchEvent(new (at('Event'))('change', { bubbles: true }))
    await settled()
  },
  key: async (key) => {
    const target = document.activeElement ?? document.body
    target.dispatchEvent(new (at('KeyboardEvent'))('keydown', { key, bubbles: true, cancelable: true }))
    await settled()
  },
  dialog: () => {
    const open = document.querySelector('dialog[open]')
    return open === null ? undefined : labelOf(open)
  },
  focus: () => (document.activeElement === null ? '' : nameOf(document.activeElement)),
  happens: async (type, subject) => {
    const change = { kind: 'change', id: 1, type, at: new Date().toISOString(), subject, data: {} } as const
    const told = async function* () {
      yield change
    }
    await followChanges(told, new AbortController().signal)
    await settled()
  },
  missed: async () => {
    const told = async function* () {
      yield { kind: 'gap', id: 1, after: 0, until: 1 } as const
    }
    await followChanges(told, new AbortController().signal)
    await settled()
  },
  address: () => window.location.pathname + window.location.search,
  settled,
}

/** Closes what was told at the edge of the screen. */
async function forget(): Promise<void> {
  for (const close of document.querySelectorAll<HTMLElement>('.toast button:last-child')) close.click()
  await settled()
}

function at(name: 'Event' | 'KeyboardEvent'): typeof KeyboardEvent {
  return Reflect.get(window, name) as unknown as typeof KeyboardEvent
}

/** Waits until nothing is asked for any more, and nothing is drawn. */
async function settled(): Promise<void> {
  for (let [still, rounds] = [0, 0], before = ''; still < 6 && rounds < 2_000; rounds += 1) {
    await turn()
    const now = document.body.innerHTML
    still = pending === 0 && now === before ? still + 1 : 0
    before = now
  }
}

function partOf(name: string | undefined): Element {
  if (name === undefined) return document.body
  const parts = [
    ...document.querySelectorAll('section, article, dialog, fieldset, table, [role], li, [aria-label]'),
  ]
  const found = parts.find((one) => labelOf(one) === name)
  if (found === undefined)
    throw new Error(`no part ${name} among ${parts.map(labelOf).filter(Boolean).join(' | ')}`)
  return found
}

function labelOf(part: Element): string {
  const by = part.getAttribute('aria-labelledby')
  const heading = by === null ? part.querySelector('legend') : document.getElementById(by)
  return part.getAttribute('aria-label') ?? (heading === null ? '' : textOf(heading))
}

function pressable(part: string | undefined): readonly HTMLElement[] {
  const open = part === undefined ? document.querySelector('dialog[open]') : null
  return [...(open ?? partOf(part)).querySelectorAll<HTMLElement>('button, a, summary')]
}

function buttonOf(name: string, part?: string): HTMLElement {
  const known = pressable(part)
  const button = known.find((one) => nameOf(one) === name)
  if (button === undefined) throw new Error(`no button ${name} among ${known.map(nameOf).join(' | ')}`)
  return button
}

function nameOf(element: Element): string {
  return element.getAttribute('aria-label') ?? textOf(element)
}

function field(label: string): HTMLInputElement {
  const labels = [...document.querySelectorAll('label')]
  const found = labels.findLast((one) => textOf(one) === label)
  const line = document.getElementById(found?.getAttribute('for') ?? '')
  if (line === null) throw new Error(`no field ${label} among ${labels.map(textOf).join(' | ')}`)
  // A select and a textarea are filled in the same way.
  return line as HTMLInputElement
}

function textOf(node: Node): string {
  const lines = (one: Node): string => {
    if (one.nodeType === 3) return one.textContent ?? ''
    if (one.nodeName.toLowerCase() === 'svg') return ''
    const text = [...one.childNodes].map(lines).join('')
    return INLINE.test(one.nodeName) ? text : `\n${text}\n`
  }
  return lines(node)
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')
}
