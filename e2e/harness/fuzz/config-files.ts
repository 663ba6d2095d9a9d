import fc, { type Arbitrary } from 'fast-check'
import type { Json } from '../openapi.ts'
import { anyCharacter, hostileTexts, hostileValues, isObject, valuesOf, words } from './values.ts'

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
    .map((wrong) => wrong.map(([{ path }, value]) => [path, value] as const))
    .chain((wrong) => trees.map((tree) => treeOf(wrong, tree)))
  const writtenAs = (some: Arbitrary<Json>): Arbitrary<string> =>
    fc.tuple(some, fc.boolean()).map(([tree, isJson]) => (isJson ? JSON.stringify(tree) : block(tree, '')))
  const text = fc.oneof(
    { weight: 5, arbitrary: writtenAs(trees) },
    { weight: 4, arbitrary: writtenAs(nearly) },
    { weight: 3, arbitrary: trees.chain((tree) => damaged(block(tree, ''))) },
    { weight: 2, arbitrary: fc.object({ maxDepth: 3 }).map((tree) => block(tree, '')) },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_FILES) },
    { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 200 }) },
  )
  return fc.record({ text, env: environments(leaves) })
}

function environments(leaves: readonly Leaf[]): Arbitrary<Readonly<Record<string, string>>> {
  const variables = leaves.flatMap(({ variable }) => (variable === undefined ? [] : [variable]))
  const values = fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('', ' ') },
    { weight: 6, arbitrary: words`true no 7 15s :8080 core_b 999 99 LAB DE -1 a,b,,c` },
    { weight: 7, arbitrary: hostileTexts.filter((text) => !text.includes('\0')) },
  )
  const name = fc.oneof(fc.constantFrom(...variables), words`SVC_ SVC_SERVER_LISTENN SVC_TEST_X X`)
  return fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, fc.dictionary(name, values, { maxKeys: 3 }))
}

function leavesOf(schema: Json, path: readonly string[]): readonly Leaf[] {
  if (!isObject(schema.properties) || schema.type !== 'object') {
    const env = schema['x-env']
    return [{ path, schema, variable: isObject(env) && typeof env.name === 'string' ? env.name : undefined }]
  }
  return Object.entries(schema.properties).flatMap(([name, inner]) =>
    leavesOf(inner as Json, [...path, name]),
  )
}

function treeOf(
  entries: readonly (readonly [path: readonly string[], value: unknown])[],
  into: Json = {},
): Json {
  const tree = structuredClone(into)
  for (const [path, value] of entries) place(tree as Record<string, unknown>, path, value)
  return tree
}

function place(tree: Record<string, unknown>, [head = '', ...rest]: readonly string[], value: unknown): void {
  const inner = tree[head]
  const next: Record<string, unknown> = isObject(inner) ? { ...inner } : {}
  tree[head] = rest.length === 0 ? value : next
  if (rest.length > 0) place(next, rest, value)
}

/** Block YAML with values in JSON, which is YAML. */
function block(tree: Json, indent: string): string {
  return Object.entries(tree)
    .map(([name, value]) => {
      const key = /^[a-z_]+$/.test(name) ? name : JSON.stringify(name)
      const isGroup = isObject(value) && Object.keys(value).length > 0
      const below = isGroup ? `\n${block(value, `${indent}  `)}` : ` ${JSON.stringify(value)}\n`
      return `${indent}${key}:${below}`
    })
    .join('')
}

function damaged(text: string): Arbitrary<string> {
  const pieces = fc.oneof(
    words`: " ' { ] | > # %`,
    fc.constantFrom('\t', '- ', '  ', '\n', '&a ', '*a', '!!binary ', '---\n', '\u0000', '<<: '),
    fc.string({ maxLength: 5 }),
  )
  const edits = fc.array(fc.tuple(fc.nat(text.length), fc.nat(8), pieces), { minLength: 1, maxLength: 4 })
  return edits.map((all) =>
    all.reduce((now, [at, length, insert]) => now.slice(0, at) + insert + now.slice(at + length), text),
  )
}

const NESTED = 5_000

/** What YAML can be without being a configuration. */
const ODD_FILES: readonly string[] = [
  ...['', '\n', '---\n---\n', 'null', '[]', '42', '"text"', '# only a comment'],
  ...['!!float 7', '0x10', '0o17', '1_000', '.inf', '.nan', '1e400', '9007199254740993'].map(
    (tac) => `tac: ${tac}\n`,
  ),
  ...['&a {next: *a}', '*nobody', '!!js/function "() => 1"'].map((value) => `server: ${value}\n`),
  '\ufeffserver:\n  mode: lab\n',
  'a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c]\ne: [*d,*d,*d,*d]\n',
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
