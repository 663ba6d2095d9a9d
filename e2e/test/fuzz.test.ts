import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, rounds, stretched, suite, testSeed } from '@steeple/testkit'
import fc from 'fast-check'
import { createJudge, type Judge } from '../harness/fuzz/judge.ts'
import { batchesTo, type FuzzRequest, type FuzzWorld, fittingRequestsTo } from '../harness/fuzz/requests.ts'
import { credentialsOf, knownThings, victimPlugin } from '../harness/fuzz/world.ts'
import { createClient, type Got, type HttpClient } from '../harness/http-client.ts'
import { type Footprint, INSPECTOR_FLAGS, type Inspector, openInspector } from '../harness/inspector.ts'
import { fetchOpenApi, type Operation, operationsOf } from '../harness/openapi.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/** Requests that are none, or that a proxy and a server may read differently. */
function notHttp(): readonly Buffer[] {
  const request = 'GET /v1/healthz HTTP/1.1\r\nHost: a\r\n'
  const texts = [
    '\r\n\r\n\r\n',
    'hello\r\n\r\n',
    'GET\r\n\r\n',
    'GET /v1/healthz HTTP/9.9\r\n\r\n',
    'FOO /v1/healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /v1/ healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /v1/healthz\u0000 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET v1/healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    `${request}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    `${request}Content-Length: -1\r\n\r\n`,
    `${request}Content-Length: 1e3\r\n\r\n`,
    `${request}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`,
    `${request}Transfer-Encoding: cow\r\n\r\n`,
    `${request}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `${request}No Colon\r\n\r\n`,
    `${request}A: b\r\n folded\r\n\r\n`,
    `${request}Bad\u0001Name: x\r\n\r\n`,
    `${request}X: a\u0000b\r\n\r\n`,
    `${request}X: ${'a'.repeat(20_000)}\r\n\r\n`,
    `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    `${request}${'X: y\r\n'.repeat(5_000)}\r\n`,
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ]
  return texts.map((text) => Buffer.from(text, 'latin1'))
}

/** What the service says to raw bytes until it closes, or for half a second. */
function exchange(host: string, port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, host, () => socket.end(bytes))
    const bound = setTimeout(() => socket.destroy(), 500)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(bound)
      resolve(text)
    })
  })
}

const REQUESTS = rounds(20_000)
const SEED = testSeed()
const CONNECTIONS = 16
const BATCH = 64
/** No answer, however hostile the request, may take longer on a machine that runs client and service alone. */
const SLOWEST_MS = 5_000
/** Growth of what is alive in the heap over the second half of the run. */
const GROWTH_LIMIT_MIB = 8

const fuzz = suite('e2e/fuzz', { limitMs: 1_200_000 })

interface Books {
  sent: number
  readonly statuses: Map<number, number>
  readonly successes: Map<string, number>
  /** Operations whose handler was run. */
  readonly reached: Set<string>
  readonly slowestMs: { value: number; what: string }
  readonly kept: Map<string, string>
  replayed: number
}

let dataDir: string
let service: Service
let client: HttpClient
let inspector: Inspector
let judge: Judge
let world: FuzzWorld
const books: Books = {
  sent: 0,
  statuses: new Map(),
  successes: new Map(),
  reached: new Set(),
  slowestMs: { value: 0, what: '' },
  kept: new Map(),
  replayed: 0,
}

fuzz.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'steeple-fuzz-'))
  for (const version of ['1.0.0', '1.1.0']) installVersion(dataDir, victimPlugin(version))
  const config = join(dataDir, 'control.yaml')
  writeFileSync(config, '')
  service = await startService({
    dataDir,
    // One of its own: it is written by whoever asks for it with the right.
    flags: ['--config', config],
    nodeFlags: INSPECTOR_FLAGS,
    // Without a core to push SIMs to, none waits.
    // Not the core of a test before, which may be leaving just now.
    env: { SVC_HSS_DRIVER: 'none', SVC_COLLECTOR_MME_URL: 'http://127.0.0.1:1' },
  })
  inspector = await openInspector(service)
  client = createClient(service.url, CONNECTIONS)
  const document = await fetchOpenApi(service.url)
  judge = createJudge(document)
  // The limits of a principal would soon answer everything with 429.
  const limits = {
    spectrum_check_per_hour: 100_000,
    tx_arm_per_hour: 1_000,
    sim_issue_per_hour: 100_000,
    sim_revoke_per_hour: 100_000,
  }
  await service.request('PUT', '/v1/policy', { body: { rate_limits: limits } })
  // OpenPGP is loaded when a key is first read, and is as large as the growth that is looked for.
  const badKey = await service.request('PUT', '/v1/esim/providers/meadow', { body: { order_key: 'none' } })
  assert.is(badKey.status, 400)
  world = {
    operations: operationsOf(document),
    credentials: await credentialsOf(service),
    known: await knownThings(service),
  }
  await eventually(async () => (await service.request('GET', '/v1/status')).status === 200)
})

fuzz.after(async () => {
  client.close()
  inspector.close()
  await service.kill()
  rmSync(dataDir, { recursive: true, force: true })
})

fuzz(
  `answers ${REQUESTS} requests without a 5xx and as its document says (seed ${SEED})`,
  async () => {
    const startedAt = performance.now()
    let middle: Footprint | undefined
    const batches = Math.ceil(REQUESTS / BATCH)
    let done = 0
    const property = fc.asyncProperty(batchesTo(world, BATCH), async (requests) => {
      await answerAll(requests)
      done += 1
      if (done === Math.ceil(batches / 2)) middle = await inspector.footprint()
    })
    const result = await fc.check(property, { numRuns: batches, seed: SEED, endOnFailure: true })
    if (result.failed)
      throw new Error(`SVC_TEST_SEED=${SEED} after ${books.sent} requests: ${causeOf(result)}`)
    const seconds = (performance.now() - startedAt) / 1_000
    const end = await inspector.footprint()
    const grownMiB =
      (end.heapUsed + end.external - (middle?.heapUsed ?? 0) - (middle?.external ?? 0)) / 2 ** 20
    report(seconds, grownMiB)
    assert.ok(books.sent >= REQUESTS, `${books.sent} requests`)
    assert.ok(
      books.slowestMs.value < stretched(SLOWEST_MS),
      `${books.slowestMs.value} ms: ${books.slowestMs.what}`,
    )
    assert.ok(grownMiB < GROWTH_LIMIT_MIB, `the heap grew by ${grownMiB.toFixed(1)} MiB`)
    assert.is(end.listeners, middle?.listeners, 'listeners on the process')
  },
  { limitMs: rounds(1_200_000) },
)

fuzz('reached the handler of every operation', () => {
  const missed = world.operations
    .filter((operation) => isOpenToTokens(operation))
    .map(({ method, path }) => `${method} ${path}`)
    .filter((name) => !books.reached.has(name))
  // A short run of someone who looks for something else may miss one.
  if (REQUESTS >= 20_000) assert.equal(missed, [], 'operations that refused every request at the door')
  assert.ok(books.replayed > 0, 'no Idempotency-Key met its first answer')
})

fuzz('repeats the first answer to a repeated request, and refuses another body under its key', async () => {
  let repeated = 0
  // Contract section 2: whatever changes something under /v1 takes a key, of somebody whose it can be. ES9+ does not:
  // SGP.22 knows none.
  const operations = world.operations.filter(
    ({ method, path, object }) => method !== 'GET' && path.startsWith('/v1/') && object.security.length > 0,
  )
  const changes = { ...world, operations }
  const property = fc.asyncProperty(fittingRequestsTo(changes), fc.uuid(), async (fitting, key) => {
    const own = { 'idempotency-key': key, authorization: world.credentials.admin ?? '' }
    const request = { ...fitting, credential: 'admin', headers: { ...fitting.headers, ...own } }
    if (isDisarm(request)) return
    const [first, second] = [await answerOne(request), await answerOne(request)]
    const other = await answerOne({ ...request, body: `${request.body?.toString() ?? ''} ` })
    // A limit may be reached, or be over, between two of them.
    if ([first, second, other].some(({ status }) => status === 429)) return
    assert.is(second.status, first.status, described(request))
    // What is refused at the door, or what a core that is away could not answer, is no result: another try may pass.
    if ([400, 401, 403, 503].includes(first.status)) return
    repeated += 1
    assert.is(first.headers['idempotency-replayed'], undefined, described(request))
    assert.is(second.headers['idempotency-replayed'], 'true', described(request))
    assert.ok(second.body.equals(first.body), described(request))
    const isRefused = other.status === 409 && other.body.toString().includes('"idempotency_key_reused"')
    assert.ok(isRefused || [400, 415].includes(other.status), `${described(request)}: ${other.status}`)
  })
  await fc.assert(property, { numRuns: 300, seed: SEED, endOnFailure: true })
  process.stdout.write(`\n# ${repeated} of 300 changes had a result and repeated it\n`)
  assert.ok(repeated > 50, `${repeated} results`)
})

fuzz('closes what is not HTTP, or answers it in the shape of its errors', async () => {
  const { hostname, port } = new URL(service.url)
  for (const bytes of notHttp()) {
    const text = await exchange(hostname, Number(port), bytes)
    if (text === '') continue
    const [head = '', body = ''] = text.split('\r\n\r\n')
    const what = JSON.stringify(bytes.toString('latin1').slice(0, 80))
    assert.match(head, /^HTTP\/1\.1 (400|404|405|408|413|431) /, `${what}: ${head.slice(0, 80)}`)
    assert.match(head, /\r\nX-Request-Id: \S+/i, `${what} has no X-Request-Id`)
    assert.match(head, /\r\nX-Content-Type-Options: nosniff/i, what)
    assert.equal(Object.keys(JSON.parse(body)), ['error'], what)
  }
})

fuzz('is in good health afterwards: healthy, chain intact, no error in the log, clean end', async () => {
  assert.is((await service.request('GET', '/v1/healthz')).status, 200)
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/health')
    // What agents report of themselves was made up by the fuzzer, and no core runs here.
    const own = body.components.filter(
      ({ kind, name }: { readonly kind: string; readonly name: string }) =>
        kind !== 'peer' && kind !== 'core' && name !== 'sims.kicks',
    )
    for (const { name, status, detail } of own) assert.is(status, 'ok', `${name}: ${detail}`)
  })
  const verdict = await runSvc(['audit', 'verify', '--data-dir', service.dataDir])
  assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
  const bad = badLines(service.output()).filter(
    // No core runs here, and a note of a disarm has a second of a disk that other tests keep busy.
    (line) => !/does not say who is attached|the disk does not answer/.test(line),
  )
  assert.equal(bad, [])
  assert.is(service.child.exitCode, null)
})

fuzz.run()

/** It is carried out each time; its key says only whether it was answered before. */
function isDisarm({ method, path, body }: FuzzRequest): boolean {
  const asked = judge.operationFor(method, path)?.path
  return asked === '/v1/tx/disarm' || (asked === '/v1/tx/arm' && /"arm":\s*false/.test(String(body ?? '')))
}

async function answerAll(requests: readonly FuzzRequest[]): Promise<void> {
  const queue = requests.values()
  const replays: (readonly [FuzzRequest, Got])[] = []
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const request of queue) {
        const got = await answerOne(request)
        if (got.headers['idempotency-replayed'] === 'true') replays.push([request, got])
      }
    }),
  )
  for (const [request, got] of replays) judgeReplay(request, got)
}

async function answerOne(request: FuzzRequest): Promise<Got> {
  const begun = performance.now()
  const got = await client.send(request).catch((error: Error) => {
    throw new Error(`${described(request)} broke the connection: ${error.message}`)
  })
  const ms = performance.now() - begun
  books.sent += 1
  books.statuses.set(got.status, (books.statuses.get(got.status) ?? 0) + 1)
  // Who asks to be told of a change waits for it.
  const isWaiting = /[?&]wait(_s)?=/.test(request.path)
  if (!isWaiting && ms > books.slowestMs.value)
    Object.assign(books.slowestMs, { value: ms, what: described(request) })
  const problems = judge.problems(request, got)
  if (problems.length > 0 || (got.status >= 500 && !asksForNoCore(request, got))) {
    throw new Error(`${described(request)}: ${got.status} ${problems.join('; ')}\n${excerpt(got.body)}`)
  }
  // What a core that is away could not answer is no result to be kept.
  if (got.status < 500) remember(request, got)
  return got
}

/** No core runs beside the service: who is attached is what it cannot say, and it says so. */
function asksForNoCore(request: FuzzRequest, got: Got): boolean {
  const isAsked = /attached/.test(`${request.path} ${String(request.body ?? '')}`)
  return isAsked && got.status === 503 && got.body.includes('"southbound_unavailable"')
}

function remember(request: FuzzRequest, got: Got): void {
  const operation = judge.operationFor(request.method, request.path)
  if (operation !== undefined) {
    const name = `${operation.method} ${operation.path}`
    if (got.status < 300) books.successes.set(name, (books.successes.get(name) ?? 0) + 1)
    if (got.status < 400 || isRefusedByHandler(request, got)) books.reached.add(name)
  }
  if (request.headers['idempotency-key'] === undefined || got.headers['idempotency-replayed'] === 'true')
    return
  books.kept.set(`${scopeOf(request)} ${got.status} ${digest(got.body)}`, '')
}

/** Nodes come by certificates and what is to be a node by a bootstrap token: none of the credentials here is one. */
function isOpenToTokens({ object }: Operation): boolean {
  const roles = object['x-roles']
  return roles.length === 0 || roles.some((role) => !['node', 'bootstrap'].includes(role))
}

/** A conflict with the state that is there, or a thing that is not: the request itself passed every check. */
function isRefusedByHandler({ kind }: FuzzRequest, { status, body }: Got): boolean {
  // The answer to a HEAD has no body.
  if (![400, 401, 404, 409, 429].includes(status) || body.length === 0) return false
  const { code, message } = JSON.parse(body.toString()).error
  // What fits the schema and is refused all the same was looked at by more than the schema.
  if (status === 400) return kind === 'fitting' && code === 'validation_failed'
  if (status === 401)
    return ['login_failed', 'invitation_invalid'].includes(code) || SAID_BY_HANDLERS.test(message)
  if (status === 429) return String(message).startsWith('too many failed logins')
  return typeof code === 'string' && !/^(not_found|feature_not_installed|idempotency_\w+)$/.test(code)
}

const SAID_BY_HANDLERS = /the session is over|the nonce is not known|the id of the provider and its password/

/** A replay is what some first answer to the same principal, method, URL, key and body was. */
function judgeReplay(request: FuzzRequest, got: Got): void {
  books.replayed += 1
  if (isDisarm(request)) return
  const isKnown = books.kept.has(`${scopeOf(request)} ${got.status} ${digest(got.body)}`)
  if (!isKnown) throw new Error(`${described(request)}: replays an answer that was never the first`)
}

function scopeOf({ credential, method, path, headers, body }: FuzzRequest): string {
  return [credential, method, path, headers['idempotency-key'], digest(body ?? '')].join(' ')
}

function digest(of: Buffer | string): string {
  return createHash('sha256').update(of).digest('base64url')
}

/** A request as someone needs it to send it again; the credential by name. */
function described({ kind, credential, method, path, headers, body }: FuzzRequest): string {
  const { authorization: _hidden, ...fields } = headers
  return `${kind} ${method} ${path.slice(0, 300)} as ${credential} ${JSON.stringify(fields).slice(0, 600)} ${excerpt(body)}`
}

function excerpt(body: Buffer | string | undefined): string {
  if (body === undefined) return 'without a body'
  const text = body.toString()
  return `${JSON.stringify(text.slice(0, 1_000))} (${body.length} bytes)`
}

function causeOf(result: { readonly errorInstance: unknown }): string {
  return result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance)
}

function report(seconds: number, grownMiB: number): void {
  const statuses = [...books.statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`)
  const rarest = [...books.successes].sort(([, a], [, b]) => a - b).slice(0, 5)
  const lines = [
    `${books.sent} requests in ${seconds.toFixed(1)} s, seed ${SEED}`,
    `answers ${statuses.join(', ')}; ${books.replayed} replayed by their Idempotency-Key`,
    `slowest ${books.slowestMs.value.toFixed(0)} ms; ${service.residentMiB().toFixed(0)} MiB resident, ${grownMiB.toFixed(1)} MiB more alive in the heap than at half time`,
    `fewest successes: ${rarest.map(([name, count]) => `${name} ${count}`).join(', ')}`,
  ]
  process.stdout.write(`\n${lines.map((line) => `# ${line}\n`).join('')}`)
}

/** Lines of the log that say that something went wrong inside. */
function badLines(output: string): readonly string[] {
  return output
    .split('\n')
    .filter((line) => /"level":"(error|fatal)"|unhandled|uncaught|MaxListeners|Warning:/i.test(line))
    .slice(0, 5)
}
