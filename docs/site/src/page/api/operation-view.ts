import { type Child, h, prose, sample, say } from '../dom.ts'
import type { ErrorCode, Operation, Parameter } from './operations.ts'
import { bodyTextOf, curlOf, type Draft, exampleOf, urlOf } from './request.ts'
import { fieldView, part, schemaView, typeText } from './schema-view.ts'
import type { Credential } from './token.ts'

/** Longest part of an answer that is shown. */
const SHOWN_CHARS = 200_000
/** An endless answer is shown for so long. */
const STREAM_MS = 10_000

/** What every operation of a page refers to. */
export interface Surroundings {
  readonly credential: Credential
  readonly codes: ReadonlyMap<string, ErrorCode>
}

/** An operation as a line that opens. What is inside is made when it is opened. */
export function operationView(operation: Operation, around: Surroundings): HTMLDetailsElement {
  const view = h(
    'details',
    { class: 'operation', id: operation.id },
    h(
      'summary',
      {},
      h('span', { class: `method ${operation.method}` }, operation.method),
      h('h3', {}, operation.summary),
      h('span', { class: 'path' }, operation.path),
      h('span', { class: 'who' }, leastRole(operation)),
    ),
  )
  view.addEventListener('toggle', () => {
    if (view.open && view.querySelector('.inside') === null) view.append(inside(operation, around))
  })
  return view
}

/** The roles come in the order of the contract: the first one that opens it is the least. */
function leastRole({ roles }: Operation): string {
  return roles.length === 0 ? 'everybody' : (roles[0] ?? '')
}

function inside(operation: Operation, around: Surroundings): HTMLElement {
  return h(
    'div',
    { class: 'inside' },
    operation.description === '' ? undefined : h('p', {}, prose(operation.description)),
    part('Who may', rolesView(operation)),
    part('In the URL and headers', parametersView(operation)),
    part('Body', bodyView(operation)),
    part('Example', sample(curlOf(operation, exampleOf(operation), location.origin), 'example')),
    part(`Answer ${operation.status}`, ...answerView(operation)),
    part('When it fails', failuresView(operation, around.codes)),
    tryIt(operation, around.credential),
  )
}

function rolesView({ roles }: Operation): Child {
  if (roles.length === 0) return h('p', {}, 'Everybody, without a token.')
  return h(
    'ul',
    { class: 'badges' },
    roles.map((role) => h('li', {}, role)),
  )
}

function parametersView({ parameters }: Operation): Child {
  if (parameters.length === 0) return undefined
  return h(
    'dl',
    { class: 'fields' },
    parameters.map((one) => {
      const field = fieldView(one.name, one.schema, one.required, 1, one.description)
      field.querySelector('dt')?.append(h('small', {}, one.in))
      return field
    }),
  )
}

function bodyView({ bodyTypes, bodySchema, bodyNote }: Operation): Child {
  if (bodyTypes.length === 0) return undefined
  return h(
    'div',
    {},
    h(
      'p',
      { class: 'quiet' },
      bodyTypes.map((type, index) => [index > 0 ? ' or ' : '', h('code', {}, type)]),
      `. ${bodyNote}`,
    ),
    bodySchema === undefined ? undefined : schemaView(bodySchema),
  )
}

function answerView({ answerTypes, answerSchema, answerExample }: Operation): readonly Child[] {
  if (answerTypes.length === 0) return [h('p', {}, 'No body.')]
  const isPlainJson = answerTypes.length === 1 && answerTypes[0] === 'application/json'
  return [
    isPlainJson
      ? undefined
      : h(
          'p',
          { class: 'quiet' },
          answerTypes.map((type, index) => [index > 0 ? ' or ' : '', h('code', {}, type)]),
        ),
    answerExample === undefined
      ? undefined
      : sample(JSON.stringify(answerExample, undefined, 2), 'an answer'),
    answerSchema === undefined ? undefined : fold('Fields of the answer', schemaView(answerSchema)),
  ]
}

function fold(title: string, content: Child): Child {
  return content === undefined
    ? undefined
    : h('details', {}, h('summary', { class: 'quiet' }, title), content)
}

function failuresView({ failures }: Operation, codes: ReadonlyMap<string, ErrorCode>): Child {
  const rows = failures.flatMap(({ status, codes: own }) => own.map((code) => [status, code] as const))
  if (rows.length === 0) return undefined
  const list = h(
    'dl',
    { class: 'codes' },
    rows.map(([status, code]) =>
      h(
        'div',
        {},
        h('dt', { class: 'status' }, status),
        h('dd', {}, h('a', { href: `#error-${code}` }, h('code', {}, code))),
        h('dd', { class: 'quiet' }, codes.get(code)?.meaning ?? ''),
      ),
    ),
  )
  return fold(`${rows.length} error codes`, list)
}

/** A form that sends the operation to this service, as whoever holds the token. */
function tryIt(operation: Operation, credential: Credential): HTMLElement {
  const fields = operation.parameters.map((one) => [one, input(one)] as const)
  const text = bodyTextOf(operation)
  const body =
    text === undefined
      ? undefined
      : h('textarea', {
          rows: String(Math.min(14, Math.max(4, text.split('\n').length + 1))),
          spellcheck: 'false',
          name: 'body',
        })
  if (body !== undefined) body.value = text ?? ''
  const send = h('button', { type: 'submit', class: 'main' }, 'Send')
  const answer = h('div', { class: 'answer', 'aria-live': 'polite' })
  const command = h('div', {})
  const draft = (): Draft => ({
    values: Object.fromEntries(
      fields.filter(([one]) => one.in !== 'header').map(([one, field]) => [one.name, field.value.trim()]),
    ),
    headers: Object.fromEntries(
      fields
        .filter(([one, field]) => one.in === 'header' && field.value.trim() !== '')
        .map(([one, field]) => [one.name, field.value.trim()]),
    ),
    body: body?.value,
  })
  const showCommand = (): void =>
    command.replaceChildren(sample(curlOf(operation, draft(), location.origin), 'the same as a command'))
  const form = h(
    'form',
    { class: 'try' },
    h('h4', {}, 'Try it'),
    operation.roles.length > 0 ? credentialLine(credential) : undefined,
    fields.map(([one, field]) =>
      h('label', {}, h('span', {}, h('code', {}, one.name), one.required ? ' *' : ''), field),
    ),
    body === undefined
      ? undefined
      : h('label', { class: 'wide' }, h('span', {}, operation.bodyTypes.join(' or ')), body),
    h(
      'div',
      { class: 'row' },
      send,
      operation.method === 'GET'
        ? undefined
        : h('span', { class: 'quiet' }, 'This really happens on this box.'),
    ),
    answer,
    command,
  )
  form.addEventListener('input', showCommand)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    send.disabled = true
    answer.replaceChildren(h('p', { class: 'quiet' }, 'Waiting for the answer …'))
    answer.replaceChildren(await perform(operation, draft(), credential))
    send.disabled = false
  })
  showCommand()
  return form
}

function input(parameter: Parameter): HTMLInputElement {
  return h('input', {
    class: 'code',
    name: parameter.name,
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: typeText(parameter.schema).slice(0, 80),
    required: parameter.required,
  })
}

function credentialLine(credential: Credential): HTMLElement {
  const line = h('p', { class: 'quiet' })
  const show = (): void => {
    line.replaceChildren(
      credential.get() === '' ? 'You have set no token. ' : 'Sent with your token. ',
      h(
        'button',
        { type: 'button', class: 'plain', click: () => credential.ask() },
        credential.get() === '' ? 'Set one' : 'Change',
      ),
    )
  }
  credential.onChange(show)
  show()
  return line
}

async function perform(operation: Operation, draft: Draft, credential: Credential): Promise<HTMLElement> {
  const headers = new Headers(draft.headers)
  const token = credential.get()
  if (token !== '' && operation.roles.length > 0) headers.set('Authorization', `Bearer ${token}`)
  const type = operation.bodyTypes[0]
  const hasBody = draft.body !== undefined && draft.body.trim() !== '' && type !== undefined
  if (hasBody) headers.set('Content-Type', type)
  const begun = performance.now()
  try {
    const response = await fetch(urlOf(operation, draft), {
      method: operation.method,
      headers,
      credentials: 'omit',
      ...(hasBody ? { body: draft.body ?? '' } : {}),
    })
    const text = await bodyOf(response)
    const ms = Math.round(performance.now() - begun)
    say(`the answer is ${response.status}`)
    return responseView(response, text, ms)
  } catch (error) {
    say('no answer')
    return h(
      'p',
      { class: 'bad' },
      `No answer: ${error instanceof Error ? error.message : 'the service cannot be reached'}`,
    )
  }
}

function responseView(response: Response, text: string, ms: number): HTMLElement {
  const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  return h(
    'div',
    {},
    h(
      'p',
      {},
      h('span', { class: response.ok ? 'good' : 'bad' }, `${response.status} ${response.statusText}`),
      ` in ${ms} ms`,
    ),
    text === '' ? h('p', { class: 'quiet' }, 'No body.') : sample(text, 'the answer'),
    h('details', {}, h('summary', { class: 'quiet' }, 'Headers'), sample(head, 'the headers')),
  )
}

async function bodyOf(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) return await streamText(response)
  if (!/json|text|xml|svg/.test(type)) {
    const { size } = await response.blob()
    return size === 0 ? '' : `${size} bytes of ${type}`
  }
  const text = await response.text()
  const shown = type.includes('json') ? pretty(text) : text
  return shown.length <= SHOWN_CHARS
    ? shown
    : `${shown.slice(0, SHOWN_CHARS)}\n… ${text.length} characters in all`
}

/** The first seconds of a stream that has no end. */
async function streamText(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  const late = setTimeout(() => void reader.cancel(), STREAM_MS)
  let text = ''
  for (let piece = await reader.read(); piece.done !== true; piece = await reader.read()) {
    text += decoder.decode(piece.value, { stream: true })
    if (text.length > SHOWN_CHARS) await reader.cancel()
  }
  clearTimeout(late)
  return `${text}\n(what came within ${STREAM_MS / 1_000} s)`
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
