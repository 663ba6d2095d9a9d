import { createHash, randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { mint } from '../harness/credentials.ts'
import { createJudge, type Judge } from '../harness/fuzz/judge.ts'
import { batchesTo, type FuzzRequest, type FuzzWorld, fittingRequestsTo } from '../harness/fuzz/requests.ts'
import { createClient, type Got, type HttpClient } from '../harness/http-client.ts'
import { type Footprint, INSPECTOR_FLAGS, type Inspector, openInspector } from '../harness/inspector.ts'
import { fetchOpenApi, operationsOf } from '../harness/openapi.ts'
import { installVersion, type PluginBuild } from '../harness/plugins/install-version.ts'
import { runSvc, type Service, startService, until } from '../harness/service.ts'

const REQUESTS = Number(process.env.SVC_FUZZ_REQUESTS ?? 20_000)
const SEED = Number(process.env.SVC_FUZZ_SEED ?? randomInt(2 ** 31))
const CONNECTIONS = 16
const BATCH = 64
/** No answer, however hostile the request, may take longer on a machine that runs client and service. */
const SLOWEST_MS = 5_000
/** Growth of what is alive in the heap over the second half of the run. */
const GROWTH_LIMIT_MIB = 8

const fuzz = suite('e2e/fuzz')

/** What the run came to. */
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

fuzz.before(
  async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'steeple-fuzz-'))
    for (const version of ['1.0.0', '1.1.0']) installVersion(dataDir, victimPlugin(version))
    service = await startService({
      dataDir,
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
    world = {
      operations: operationsOf(document),
      credentials: await credentialsOf(service),
      known: await knownThings(service),
    }
    await until(async () => (await service.request('GET', '/v1/status')).status === 200)
  },
  { limitMs: 30_000 },
)

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
      throw new Error(`SVC_FUZZ_SEED=${SEED} after ${books.sent} requests: ${causeOf(result)}`)
    const seconds = (performance.now() - startedAt) / 1_000
    const end = await inspector.footprint()
    const grownMiB =
      (end.heapUsed + end.external - (middle?.heapUsed ?? 0) - (middle?.external ?? 0)) / 2 ** 20
    report(seconds, grownMiB)
    assert.ok(books.sent >= REQUESTS, `${books.sent} requests`)
    assert.ok(books.slowestMs.value < SLOWEST_MS, `${books.slowestMs.value} ms: ${books.slowestMs.what}`)
    assert.ok(grownMiB < GROWTH_LIMIT_MIB, `the heap grew by ${grownMiB.toFixed(1)} MiB`)
    assert.is(end.listeners, middle?.listeners, 'listeners on the process')
  },
  { limitMs: 600_000 },
)

fuzz('reached the handler of every operation', () => {
  const missed = world.operations
    .map(({ method, path }) => `${method} ${path}`)
    .filter((name) => !books.reached.has(name))
  // A short run of someone who looks for something else may miss one.
  if (REQUESTS >= 20_000) assert.equal(missed, [], 'operations that refused every request at the door')
  assert.ok(books.replayed > 0, 'no Idempotency-Key met its first answer')
})

fuzz(
  'repeats the first answer to a repeated request, and refuses another body under its key',
  async () => {
    let repeated = 0
    const changes = { ...world, operations: world.operations.filter(({ method }) => method !== 'GET') }
    const property = fc.asyncProperty(fittingRequestsTo(changes), fc.uuid(), async (fitting, key) => {
      const own = { 'idempotency-key': key, authorization: world.credentials.admin ?? '' }
      const request = { ...fitting, credential: 'admin', headers: { ...fitting.headers, ...own } }
      const [first, second] = [await answerOne(request), await answerOne(request)]
      const other = await answerOne({ ...request, body: `${request.body?.toString() ?? ''} ` })
      assert.is(second.status, first.status, described(request))
      // What is refused at the door is no result: another try may pass.
      if ([400, 401, 403, 429].includes(first.status)) return
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
  },
  { limitMs: 60_000 },
)

fuzz(
  'closes what is not HTTP, or answers it in the shape of its errors',
  async () => {
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
  },
  { limitMs: 60_000 },
)

fuzz(
  'is in good health afterwards: healthy, chain intact, no error in the log, clean end',
  async () => {
    assert.is((await service.request('GET', '/v1/healthz')).status, 200)
    await eventually(async () => {
      const { body } = await service.request('GET', '/v1/health')
      // What agents report of themselves was made up by the fuzzer, and without a core nobody can be kicked.
      const own = body.components.filter(
        ({ kind, name }: { readonly kind: string; readonly name: string }) =>
          kind !== 'peer' && name !== 'sims.kicks',
      )
      for (const { name, status, detail } of own) assert.is(status, 'ok', `${name}: ${detail}`)
    }, 10_000)
    const verdict = await runSvc(['audit', 'verify', '--data-dir', service.dataDir])
    assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
    assert.equal(badLines(service.output()), [])
    assert.is(service.child.exitCode, null)
  },
  { limitMs: 60_000 },
)

fuzz.run()

async function credentialsOf(of: Service): Promise<Readonly<Record<string, string>>> {
  const roles = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']
  const scoped = await Promise.all(
    roles.map(async (role) => [
      `token ${role}`,
      `Bearer ${(await mint(of, { name: role, roles: [role] })).token}`,
    ]),
  )
  return {
    admin: `Bearer ${of.adminToken}`,
    none: '',
    unknown: 'Bearer svc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    garbage: 'Basic \u00ff:::',
    ...Object.fromEntries(scoped),
  }
}

/** A plugin that nothing else needs: it may come and go. */
function victimPlugin(version: string): PluginBuild {
  const code = `// ${version}\nexport const plugin = { setup: async () => ({ routes: [] }) }\n`
  return { id: 'victim', version, code }
}

/** Ids that exist, cursors of every list, values that reach further than random ones. */
async function knownThings(of: Service): Promise<FuzzWorld['known']> {
  const victims = await Promise.all(
    Array.from({ length: 40 }, (_, index) => mint(of, { name: `victim ${index}`, roles: ['viewer'] })),
  )
  const nodes = (await of.request('GET', '/v1/nodes')).body.nodes as readonly { readonly node_id: string }[]
  const nodeIds = nodes.map((node) => node.node_id)
  const lists = ['/v1/tokens?limit=1', '/v1/audit?limit=1', '/v1/audit?limit=1&action=token.create']
  const pages = await Promise.all(lists.map(async (path) => (await of.request('GET', path)).body.next_cursor))
  const plugins = ['victim', 'victim', 'victim', 'policy', 'access', 'kernel', 'no-such-plugin']
  const sims = (await of.request('POST', '/v1/sims', { body: { count: 40 } })).body.sims ?? []
  const hashes = sims.map((sim: { readonly imsi_sha256_12: string }) => sim.imsi_sha256_12)
  return {
    params: {
      'GET /v1/sims/{imsi}': hashes,
      'POST /v1/sims/{imsi}/suspend': hashes.slice(0, 30),
      'POST /v1/sims/{imsi}/resume': hashes.slice(0, 30),
      // One that is revoked stays so.
      'POST /v1/sims/{imsi}/revoke': hashes.slice(30),
      'DELETE /v1/tokens/{id}': victims.map((victim) => victim.id),
      'GET /v1/nodes/{id}/enroll': nodeIds,
      'GET /v1/nodes/{id}/leave': nodeIds,
      'POST /v1/plugins/{name}/load': plugins,
      'POST /v1/plugins/{name}/unload': ['victim', 'victim', 'access', 'no-such-plugin'],
      'POST /v1/plugins/{name}/reload': plugins,
    },
    cursors: pages.filter((cursor) => typeof cursor === 'string'),
    hints: {
      // A thousand SIMs at a time would test little else.
      count: [1, 2, 3, 5],
      ids: [hashes.slice(30, 33), hashes.slice(30)],
      replaces: hashes,
      node_id: nodeIds,
      version: ['1.0.0', '1.1.0', '0.1.0', '9.9.9'],
      channels: [[1300], [1300, 300, 6300], [620_000], [0], [3_279_165], [70_000]],
      band: ['b3', 'n78', 'b1', 'n1'],
      country: ['DE', 'US', 'LAB'],
      roles: [['viewer'], ['operator', 'sim:issuer'], ['admin']],
      expires_in: ['1m', '90d', '1ms', '100y'],
      profile_id: ['none', 'lab'],
    },
  }
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
  if (ms > books.slowestMs.value) Object.assign(books.slowestMs, { value: ms, what: described(request) })
  const problems = judge.problems(request, got)
  if (problems.length > 0 || got.status >= 500) {
    throw new Error(`${described(request)}: ${got.status} ${problems.join('; ')}\n${excerpt(got.body)}`)
  }
  remember(request, got)
  return got
}

function remember(request: FuzzRequest, got: Got): void {
  const operation = judge.operationFor(request.method, request.path)
  if (operation !== undefined) {
    const name = `${operation.method} ${operation.path}`
    if (got.status < 300) books.successes.set(name, (books.successes.get(name) ?? 0) + 1)
    if (got.status < 300 || isRefusedByHandler(got)) books.reached.add(name)
  }
  if (request.headers['idempotency-key'] === undefined || got.headers['idempotency-replayed'] === 'true')
    return
  books.kept.set(`${scopeOf(request)} ${got.status} ${digest(got.body)}`, '')
}

/** A conflict with the state that is there, or a thing that is not: the request itself passed every check. */
function isRefusedByHandler({ status, body }: Got): boolean {
  // The answer to a HEAD has no body.
  if ((status !== 404 && status !== 409) || body.length === 0) return false
  const code: unknown = JSON.parse(body.toString()).error.code
  return typeof code === 'string' && !/^(not_found|feature_not_installed|idempotency_\w+)$/.test(code)
}

/** A replay is what some first answer to the same principal, method, URL, key and body was. */
function judgeReplay(request: FuzzRequest, got: Got): void {
  books.replayed += 1
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
