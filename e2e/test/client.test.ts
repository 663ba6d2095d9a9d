import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Change, type Client, createClient, dataOf, type Gap } from '@steeple/client'
import type { ApiCommand } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { ROOT } from '../harness/launch.ts'
import { fetchOpenApi, type Json, type Operation, operationsOf } from '../harness/openapi.ts'
import { bundledPlugins } from '../harness/plugin-manifests.ts'
import { type Service, startService } from '../harness/service.ts'
import { type Relay, startRelay } from '../harness/tcp-proxy.ts'

/** The blocks of TypeScript in a Markdown file of the checkout, in their order. */
function examplesIn(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, body = '']) => body)
}

/** Runs a program that knows one package of the checkout, by its name, as one does that has installed it. */
async function runExample(
  source: string,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-example-'))
  try {
    mkdirSync(join(folder, 'node_modules/@steeple'), { recursive: true })
    symlinkSync(join(ROOT, 'packages', name), join(folder, 'node_modules/@steeple', name))
    writeFileSync(join(folder, 'example.mts'), source)
    const child = spawn(process.execPath, [join(folder, 'example.mts')], { env: { ...process.env, ...env } })
    let text = ''
    for (const out of [child.stdout, child.stderr])
      out.on('data', (piece) => {
        text += piece
      })
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', resolve)
    })
    return { code, text }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/*
 * packages/client against a service that is built, over an address whose connections are cut and behind which it is restarted.
 */
const suiteOf = suite('e2e/client')
const TOKEN = 'client-test-admin-token-0123456789abc'
const PROGRAM = new URL('../../packages/cli/src/program.ts', import.meta.url).href
const BUILT = join(ROOT, 'packages/client/dist/index.js')
/** What a page may load for it. */
const MOST_BYTES = 10_240

let folder: string
let service: Service
let relay: Relay
let client: Client

suiteOf.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-client-'))
  relay = await startRelay()
  await start()
  client = createClient({ url: relay.url, token: TOKEN, backOffMs: 20, longestWaitMs: 1_000, retries: 200 })
})

suiteOf.after(async () => {
  await service?.stop()
  await relay?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function start(): Promise<void> {
  service = await startService({ dataDir: join(folder, 'data'), adminToken: TOKEN })
  relay.target(service.url)
}

suiteOf('has the operations, parameters and fields that commands name which are data', async () => {
  const { COMMANDS } = (await import(PROGRAM)) as { readonly COMMANDS: readonly object[] }
  const own = [...COMMANDS, ...bundledPlugins().flatMap(({ manifest }) => manifest.commands ?? [])]
  const commands = own.filter((one): one is ApiCommand => 'operation' in one)
  const operations = operationsOf(await fetchOpenApi(service.url))
  assert.ok(commands.length > 40)
  assert.equal(
    commands.flatMap((command) => faultsOf(command, operations)),
    [],
  )
})

/** What a command names that its operation does not have. */
function faultsOf(command: ApiCommand, operations: readonly Operation[]): readonly string[] {
  const { usage, operation, body = {}, list, expects = {}, shows = {} } = command
  const found = operations.find(({ method, path }) => `${method} ${path}` === operation)
  if (found === undefined) return [`${usage}: there is no ${operation}`]
  const { requestBody, responses } = found.object
  const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const answered = fieldsOf(answer?.content?.['application/json']?.schema)
  const rows = list === undefined ? {} : fieldsOf((answered[list.key] as Json | undefined)?.items)
  const sent = fieldsOf(requestBody?.content['application/json']?.schema)
  const names = [
    ...usage.matchAll(/[<[]([a-z-]+)/g),
    ...Object.keys(command.options ?? {})
      .join(' ')
      .matchAll(/--([a-z-]+)/g),
  ]
  const places = names.map(([, name = '']) => {
    const flags = Object.keys(command.options ?? {}).find((one) => one.startsWith(`--${name}`))
    const option = command.options?.[flags ?? '']
    const to = command.arguments?.[name]?.to ?? (typeof option === 'object' ? option.to : undefined)
    if (to !== undefined) return to
    const own = name.replaceAll('-', '_')
    if (found.path.includes(`{${own}}`)) return `path.${own}`
    return found.method === 'GET' ? `query.${own}` : `body.${own}`
  })
  const known = [
    ...found.parameters.map((one) => `${one.in}.${one.name}`),
    ...Object.keys(sent).map((name) => `body.${name}`),
  ]
  const columns = (list?.columns ?? []).map((one) => (typeof one === 'string' ? one : one.value))
  const fields = columns.flatMap((value) =>
    value.includes('{')
      ? [...value.matchAll(/\{([\w.]+)\}/g)].map(([, name = '']) => name)
      : value.split('|'),
  )
  return [
    ...[...places, ...Object.keys(body).map((name) => `body.${name}`)].filter(
      (place) => !known.includes(place),
    ),
    ...fields.filter((field) => !((field.split('.')[0] ?? '') in rows)),
    ...Object.keys(expects).filter((field) => !(field in answered)),
    ...found.parameters
      .filter((one) => one.in === 'path' && !places.includes(`path.${one.name}`))
      .map(({ name }) => name),
    ...(Object.keys(answered).length === 0 && Object.keys(shows).length === 0 ? ['nothing to show'] : []),
    ...(list !== undefined && list.isWhole !== true && !('next_cursor' in answered) ? ['no pages'] : []),
  ].map((fault) => `${usage}: ${fault}`)
}

function fieldsOf(schema: unknown): Json {
  return ((schema as Json | undefined)?.properties ?? {}) as Json
}

suiteOf('has the types of what the service documents with all its plugins', async () => {
  const { apiSource } = await import(join(ROOT, 'packages/client/scripts/api-source.mjs'))
  const made = readFileSync(join(ROOT, 'packages/client/src/api.ts'), 'utf8')
  assert.fixture(apiSource(dataOf(await client.get('/v1/openapi.json'))), made)
})

suiteOf('is small, and asks nothing of Node', () => {
  const text = readFileSync(BUILT, 'utf8')
  const bytes = gzipSync(text).length
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`)
  assert.not.match(text, /\bnode:|\brequire\(|\bprocess\.|\bBuffer\b|^import /m)
})

suiteOf('issues, lists, refuses and repeats as the service does', async () => {
  const made = dataOf(await client.post('/v1/sims', { body: { count: 7 }, idempotencyKey: 'seven' }))
  const again = await client.post('/v1/sims', { body: { count: 7 }, idempotencyKey: 'seven' })
  assert.ok(again.ok && again.isReplayed)
  assert.is(again.ok && again.data.batch_id, made.batch_id)
  const rows: string[] = []
  for await (const { imsi_sha256_12 } of client.rows('/v1/sims', {
    query: { batch_id: made.batch_id, limit: 3 },
  }))
    rows.push(imsi_sha256_12)
  assert.is(new Set(rows).size, 7)
  const missing = await client.get('/v1/sims/{imsi}', { path: { imsi: '0123456789ab' } })
  assert.is(!missing.ok && missing.error.code, 'sim_not_found')
  const csv =
    'imsi,ki,opc\n999990000000001,465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf\n'
  const body = { type: 'text/csv', content: new Blob([csv]) } as const
  assert.ok((await client.post('/v1/sims/import', { query: { dry_run: true }, body })).ok)
  const policy = await client.get('/v1/policy')
  const ifMatch = policy.ok ? (policy.etag ?? '') : ''
  assert.is(ifMatch === '', false)
  const unchanged = await client.get('/v1/policy', { ifNoneMatch: ifMatch })
  assert.is(!unchanged.ok && unchanged.error.code, 'not_modified')
  assert.ok((await client.put('/v1/policy', { body: { sim_swap_cooldown_hours: 12 }, ifMatch })).ok)
  const late = await client.put('/v1/policy', { body: { sim_swap_cooldown_hours: 13 }, ifMatch })
  assert.is(!late.ok && late.error.code, 'policy_conflict')
})

suiteOf(
  'sees each change once over cut connections, a stop and a kill, and makes each change once',
  async () => {
    const seen: (Change | Gap)[] = []
    const states: string[] = []
    const ended = new AbortController()
    const following = (async () => {
      const onState = ({ state }: { readonly state: string }): void => void states.push(state)
      for await (const event of client.events({ signal: ended.signal, onState })) seen.push(event)
    })()
    await eventually(() => states.includes('open'))
    const labels: string[] = []
    const issue = async (): Promise<void> => {
      const label = `while-${labels.length}`
      labels.push(label)
      assert.is(dataOf(await client.post('/v1/sims', { body: { count: 1, label } })).issued, 1)
    }
    await issue()
    // Nobody is told which of them is cut first: the change, its answer or the stream.
    for (let cuts = 0; cuts < 3; cuts += 1) {
      const change = issue()
      relay.cut()
      await change
    }
    for (const end of ['stop', 'kill'] as const) {
      const change = issue()
      relay.target(undefined)
      relay.cut()
      await service[end]()
      await start()
      await change
    }
    const issued = (): readonly (string | null)[] =>
      seen.flatMap((event) => (event.kind === 'change' && event.type === 'sim.issue' ? [event.subject] : []))
    await eventually(() => issued().length >= labels.length)
    assert.is(seen.filter(({ kind }) => kind === 'gap').length, 0)
    const ids = seen.map(({ id }) => id)
    assert.equal(
      ids,
      [...new Set(ids)].sort((a, b) => a - b),
    )
    assert.ok(states.filter((state) => state === 'waiting').length >= 2)
    for (const label of labels) {
      const { sims } = dataOf(await client.get('/v1/sims', { query: { label } }))
      assert.equal(
        sims.map(({ imsi_sha256_12 }) => issued().filter((subject) => subject === imsi_sha256_12).length),
        [1],
        label,
      )
    }
    ended.abort()
    await following
  },
)

suiteOf('runs every example of its README as it stands', async () => {
  const examples = examplesIn('packages/client/README.md')
  assert.ok(examples.length >= 5)
  const env = { STEEPLE_URL: service.url, STEEPLE_TOKEN: TOKEN }
  for (const source of examples) {
    const { code, text } = await runExample(source, 'client', env)
    assert.is(code, 0, `${source}\nprinted\n${text}`)
    assert.not.match(text, /connection_lost|unauthenticated|validation_failed/)
  }
})

suiteOf('works in a page of the service, events too', async () => {
  const path = findBrowser()
  if (path === undefined) return assert.is(findBrowser(), undefined)
  await using browser = await openBrowser(path)
  const { page, problems } = await browser.open('about:blank')
  // A page and the module at the service's own origin, as a console has them.
  await page.route('**/own-page', (route) => route.fulfill({ contentType: 'text/html', body: '<p>' }))
  await page.route('**/client.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: readFileSync(BUILT, 'utf8') }),
  )
  await page.goto(`${service.url}/own-page`)
  const told = await page.evaluate(async (token) => {
    const path = '/client.js'
    const { createClient } = await import(path)
    const steeple = createClient({ url: '', token })
    const before = await steeple.get('/v1/status')
    const events = steeple.events({
      onState: ({ state }: { readonly state: string }) => {
        if (state === 'open') void steeple.post('/v1/sims', { body: { count: 1 } })
      },
    })
    const { value } = await events.next()
    await events.return()
    return { isOk: before.ok, type: value.type }
  }, TOKEN)
  assert.equal(told, { isOk: true, type: 'sim.issue' })
  assert.equal(problems, [])
})

suiteOf.run()
