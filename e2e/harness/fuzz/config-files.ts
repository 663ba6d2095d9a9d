import fc, { type Arbitrary } from 'fast-check'
import type { Json } from '../openapi.ts'
import { anyCharacter, HOSTILE_TEXTS, hostileValues } from './hostile-values.ts'
import { isObject, valuesOf } from './schema-values.ts'

/** A configuration file and the environment that it is read in. */
export interface ConfigFile {
  readonly text: string
  readonly env: Readonly<Record<string, string>>
}

interface Leaf {
  readonly path: readonly string[]
  readonly schema: Json
  readonly variable: string | undefined
}

/** Files from right to absurd: fitting, nearly fitting, damaged, any YAML, any text. */
export function configFiles(schema: Json): Arbitrary<ConfigFile> {
  const leaves = leavesOf(schema, [])
  const trees = fc
    .uniqueArray(fc.constantFrom(...leaves), { maxLength: 5, selector: ({ path }) => path.join('.') })
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map(({ schema: own, path }) => valuesOf(own).map((value) => [path, value] as const)),
      ),
    )
    .map((entries) => treeOf(entries))
  const nearly = fc
    .array(fc.tuple(fc.constantFrom(...leaves), hostileValues), { minLength: 1, maxLength: 3 })
    .chain((wrong) =>
      trees.map((tree) =>
        treeOf(
          wrong.map(([leaf, value]) => [leaf.path, value] as const),
          tree,
        ),
      ),
    )
  const text = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(trees, fc.boolean()).map(([tree, isJson]) => written(tree, isJson)) },
    { weight: 4, arbitrary: fc.tuple(nearly, fc.boolean()).map(([tree, isJson]) => written(tree, isJson)) },
    { weight: 3, arbitrary: trees.chain((tree) => damaged(written(tree, false))) },
    { weight: 2, arbitrary: fc.object({ maxDepth: 3 }).map((tree) => written(tree, false)) },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_FILES) },
    { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 200 }) },
  )
  return fc.record({ text, env: environments(leaves) })
}

function environments(leaves: readonly Leaf[]): Arbitrary<Readonly<Record<string, string>>> {
  const variables = leaves.flatMap(({ variable }) => (variable === undefined ? [] : [variable]))
  const values = fc.oneof(
    fc.constantFrom(
      '',
      ' ',
      'true',
      'no',
      '7',
      '15s',
      ':8080',
      'core_b',
      '999',
      '99',
      'LAB',
      'DE',
      '-1',
      'a,b,,c',
    ),
    fc.constantFrom(...HOSTILE_TEXTS).filter((text) => !text.includes('\0')),
  )
  const name = fc.oneof(
    fc.constantFrom(...variables),
    fc.constantFrom('SVC_', 'SVC_SERVER_LISTENN', 'SVC_TEST_X', 'X'),
  )
  return fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, fc.dictionary(name, values, { maxKeys: 3 }))
}

function leavesOf(schema: Json, path: readonly string[]): readonly Leaf[] {
  if (!isObject(schema.properties) || schema.type !== 'object') {
    const env = schema['x-env']
    const variable = isObject(env) && typeof env.name === 'string' ? env.name : undefined
    return [{ path, schema, variable }]
  }
  return Object.entries(schema.properties).flatMap(([name, inner]) =>
    leavesOf(inner as Json, [...path, name]),
  )
}

function treeOf(
  entries: readonly (readonly [path: readonly string[], value: unknown])[],
  into: Record<string, unknown> = {},
): Record<string, unknown> {
  const tree = structuredClone(into)
  for (const [path, value] of entries) place(tree, path, value)
  return tree
}

function place(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [head = '', ...rest] = path
  if (rest.length === 0) {
    tree[head] = value
    return
  }
  const inner = tree[head]
  const next: Record<string, unknown> = isObject(inner) ? { ...inner } : {}
  tree[head] = next
  place(next, rest, value)
}

/** Block YAML with values in JSON, which is YAML, or JSON as a whole. */
function written(tree: unknown, isJson: boolean): string {
  return isJson || !isObject(tree) ? JSON.stringify(tree) : block(tree, 0)
}

function block(tree: Json, depth: number): string {
  const indent = '  '.repeat(depth)
  return Object.entries(tree)
    .map(([name, value]) => {
      const key = /^[a-z_]+$/.test(name) ? name : JSON.stringify(name)
      const isGroup = isObject(value) && Object.keys(value).length > 0
      return isGroup
        ? `${indent}${key}:\n${block(value, depth + 1)}`
        : `${indent}${key}: ${JSON.stringify(value)}\n`
    })
    .join('')
}

function damaged(text: string): Arbitrary<string> {
  const pieces = fc.constantFrom(
    ...[
      '\t',
      ':',
      '- ',
      '  ',
      '\n',
      '"',
      "'",
      '{',
      ']',
      '&a ',
      '*a',
      '!!binary ',
      '|',
      '>',
      '#',
      '%',
      '---\n',
      '\u0000',
      '<<: ',
    ],
  )
  return fc
    .array(fc.tuple(fc.nat(text.length), fc.nat(8), fc.oneof(pieces, fc.string({ maxLength: 5 }))), {
      minLength: 1,
      maxLength: 4,
    })
    .map((edits) =>
      edits.reduce((now, [at, length, insert]) => now.slice(0, at) + insert + now.slice(at + length), text),
    )
}

const NESTED = 5_000

/** What YAML can be without being a configuration. */
const ODD_FILES: readonly string[] = [
  '',
  '\n',
  '---\n---\n',
  'null',
  '[]',
  '42',
  '"text"',
  '# only a comment',
  '\ufeffserver:\n  mode: lab\n',
  'server: &a {next: *a}\n',
  'a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c]\ne: [*d,*d,*d,*d]\n',
  'server: *nobody\n',
  'server: !!js/function "() => 1"\n',
  'tac: !!float 7\n',
  'tac: 0x10\n',
  'tac: 0o17\n',
  'tac: 1_000\n',
  'tac: .inf\n',
  'tac: .nan\n',
  'tac: 1e400\n',
  'tac: 9007199254740993\n',
  'server: {mode: lab}\nserver: {mode: rf}\n',
  'server.mode: lab\n',
  '? [a, b]\n: c\n',
  '1: 2\ntrue: 3\nnull: 4\n',
  '__proto__: {server: {mode: rf}}\n',
  'server: {__proto__: {mode: rf}, constructor: {prototype: {}}}\n',
  'toString: 1\nhasOwnProperty: 2\n',
  `${'['.repeat(NESTED)}${']'.repeat(NESTED)}`,
  `${'{a: '.repeat(NESTED)}1${'}'.repeat(NESTED)}`,
  `apns: [${'a, '.repeat(20_000)}b]\n`,
  `server:\n  country: ${'x'.repeat(200_000)}\n`,
  `${Array.from({ length: 3_000 }, (_, index) => `key${index}: 1`).join('\n')}\n`,
  'server:\r\n  mode: lab\r\n',
  'server:\n\tmode: lab\n',
  'plmn: {mcc: 001, mnc: 01}\n',
  'plmn: {mcc: "001", mnc: "01"}\n',
  'auth: {admin_token_env: svc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA}\n',
  'alerts:\n  rules:\n    - {name: a, metric: nobody, op: ">", threshold: 1, for: 5m, severity: info}\n',
]
