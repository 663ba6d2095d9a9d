import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkConfig, createSchemaCompiler, mergedSchema, readSection } from '@steeple/settings'
import { assert, cpuMs, rounds, suite, testSeed } from '@steeple/testkit'
import type { Arbitrary } from 'fast-check'
import fc from 'fast-check'
import {
  anyCharacter,
  hostileTexts,
  hostileValues,
  isObject,
  valuesOf,
  words,
} from '../harness/fuzz/values.ts'
import type { Json } from '../harness/openapi.ts'
import { runSvc } from '../harness/service.ts'

/** A configuration file and the environment that it is read in. */
interface ConfigFile {
  readonly text: string
  readonly env: Readonly<Record<string, string>>
}

interface Leaf {
  readonly path: readonly string[]
  readonly schema: Json
  readonly variable: string | undefined
}

/** Files from right to absurd: fitting, nearly fitting, damaged, any YAML, any text. */
function configFiles(schema: Json): Arbitrary<ConfigFile> {
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

const SEED = testSeed()
/** Files that the library judges in this process, and files that the product judges in one of its own. */
const FILES = rounds(2_000)
const PROCESSES = 24
/** A configuration of a few kilobytes that takes longer to refuse is a way to stop a start. */
const SLOWEST_MS = 2_000

/** The keys of the service and of the plugins of this repository. */
const PACKAGES = new URL('../../packages/', import.meta.url).pathname
const SECTIONS = readdirSync(PACKAGES)
  .map((name) => readSection(join(PACKAGES, name), 'build'))
  .filter((section) => typeof section === 'object')
const SCHEMA = mergedSchema(SECTIONS)
/** As in a service that reads its configuration again and again; the command of each process below has its own. */
const COMPILE = createSchemaCompiler()

const fuzz = suite('e2e/config-fuzz')

fuzz(
  `judges ${FILES} configurations without a crash, and names the place of every problem (seed ${SEED})`,
  () => {
    const counts = { valid: 0, refused: 0, slowestMs: 0 }
    const property = fc.property(configFiles(SCHEMA), (file) => {
      const begun = cpuMs()
      const report = checkConfig({
        file: 'control.yaml',
        sections: SECTIONS,
        readFile: () => file.text,
        env: file.env,
        compile: COMPILE,
        surroundings: { interfaces: () => ['lo', 'eth0'], hasNodeKeys: () => true },
      })
      counts.slowestMs = Math.max(counts.slowestMs, cpuMs() - begun)
      counts[report.isValid ? 'valid' : 'refused'] += 1
      judge(report.isValid, report.lines, 'control.yaml', file)
    })
    fc.assert(property, { numRuns: FILES, seed: SEED, includeErrorInReport: true })
    process.stdout.write(
      `\n# ${counts.valid} accepted, ${counts.refused} refused, slowest ${counts.slowestMs.toFixed(0)} ms, seed ${SEED}\n`,
    )
    // A fuzzer that makes nothing valid tests the first check alone, and the other way round.
    assert.ok(counts.valid > FILES / 20, `${counts.valid} valid`)
    assert.ok(counts.refused > FILES / 4, `${counts.refused} refused`)
    assert.ok(counts.slowestMs < SLOWEST_MS, `${counts.slowestMs} ms`)
  },
  { limitMs: rounds(900_000) },
)

fuzz(
  `says the same as a command, ${PROCESSES} times, with exit code 0 or 1`,
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'steeple-config-'))
    try {
      const files = fc.sample(configFiles(SCHEMA), { numRuns: PROCESSES, seed: SEED })
      const queue = files.entries()
      const work = async (): Promise<void> => {
        for (const [index, file] of queue) await judgeByCommand(join(dir, `${index}.yaml`), file)
      }
      await Promise.all([work(), work()])
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  },
  { limitMs: 600_000 },
)

fuzz('refuses what is no readable file with one line and exit code 1, and a wrong call with 2', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'steeple-config-'))
  try {
    for (const path of [join(dir, 'absent.yaml'), dir, join(dir, 'x'.repeat(300)), '/dev/full/x']) {
      const { code, stdout, stderr } = await runSvc(['config', 'check', path])
      assert.is(code, 1, path)
      assert.is(stdout, '')
      assert.is(stderr.trim().split('\n').length, 1, stderr)
    }
    assert.is((await runSvc(['config', 'check', '/dev/null'])).code, 0)
    assert.is((await runSvc(['config', 'check', '/dev/null', '--strange'])).code, 2)
    assert.is((await runSvc(['config', 'chek', dir])).code, 2)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

fuzz('does not start the service with a configuration that the check refuses', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'steeple-config-'))
  try {
    const path = join(dir, 'control.yaml')
    writeFileSync(path, 'server:\n  lissten: ":1"\nplmn:\n  mcc: 12\n')
    const check = await runSvc(['config', 'check', path])
    const start = await runSvc(['--config', path, '--data-dir', join(dir, 'data'), '--first-start'])
    assert.is(check.code, 1)
    assert.is(start.code, 1)
    for (const place of [`${path}:2:3: server.lissten `, `${path}:4:8: plmn.mcc `]) {
      assert.ok(check.stderr.includes(place), `${place} in ${check.stderr}`)
      assert.ok(start.stderr.includes(place), `${place} in ${start.stderr}`)
    }
    assert.not.match(start.stderr, /\bat .+:\d+:\d+/, 'a stack trace')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

fuzz.run()

async function judgeByCommand(path: string, file: ConfigFile): Promise<void> {
  writeFileSync(path, file.text)
  const { code, stdout, stderr } = await runSvc(['config', 'check', path], environmentOf(file))
  assert.ok(code === 0 || code === 1, `exit code ${code} for ${JSON.stringify(file)}: ${stderr}`)
  const lines = (code === 0 ? stdout : stderr).split('\n').slice(0, -1)
  assert.is(code === 0 ? stderr : stdout, '', 'the other stream')
  judge(code === 0, lines, path, file)
}

/** An environment that can be given to a process. */
function environmentOf(file: ConfigFile): Readonly<Record<string, string>> {
  const entries = Object.entries(file.env).filter(
    ([name, value]) => name !== '' && !/[=\0]/.test(name) && !value.includes('\0'),
  )
  return Object.fromEntries(entries)
}

/** A report has lines; each problem says where (file with line and column, or a variable) and which key. */
function judge(isValid: boolean, lines: readonly string[], path: string, file: ConfigFile): void {
  const shown = JSON.stringify(file).slice(0, 2_000)
  assert.ok(lines.length > 0, `no line for ${shown}`)
  if (isValid) {
    assert.is(lines[0], 'ok')
    for (const line of lines.slice(1)) assert.match(line, /^warning: ./)
    return
  }
  for (const line of lines) {
    assert.ok(line.trim().length > 10, `${JSON.stringify(line)} for ${shown}`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a report goes to a terminal
    assert.not.match(line, /[\u0000-\u0008\u000b-\u001f]/, `a control character for ${shown}`)
    const hasPlace = line.startsWith(`${path}:`) || /^[A-Z][A-Z0-9_]*: /.test(line) || hasKey(line)
    assert.ok(hasPlace, `${JSON.stringify(line)} names no place for ${shown}`)
    assert.not.match(line, /\bat .+\.[jt]s:\d+|\[object /, `${line} for ${shown}`)
  }
}

/** A key without a place: nothing in the file is wrong, something is missing in it. */
function hasKey(line: string): boolean {
  return /^[a-z_]+(\.[A-Za-z0-9_-]+)* /.test(line)
}
