import { type Child, h, prose, sample } from '../dom.ts'
import type { ErrorCode, Operation } from './operations.ts'
import { curlOf, exampleOf } from './request.ts'
import { fieldView, part, schemaView } from './schema-view.ts'
import type { Credential } from './token.ts'
import { tryIt } from './try-it.ts'

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
