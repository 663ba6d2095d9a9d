import http from 'node:http'
import { loadavg } from 'node:os'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Attack, startAttack } from '../harness/attack/start-attack.ts'
import { type Answer, type Service, startedProcesses } from '../harness/service.ts'

/** What the service was like while it was watched. Times in ms, memory in MiB. */
interface Seen {
  readonly healthzWorstMs: number
  readonly healthzMedianMs: number
  readonly disarmWorstMs: number
  readonly disarmMedianMs: number
  readonly residentMiB: number
  readonly rounds: number
}

const PAUSE_MS = 100
const PATIENCE_MS = 60_000

/** Asks for healthz and disarms, each over a connection of its own, again and again for `forMs`. */
async function watch(service: Service, forMs: number): Promise<Seen> {
  const healthz: number[] = []
  const disarm: number[] = []
  let residentMiB = 0
  const end = performance.now() + forMs
  do {
    healthz.push(await timed(service, 'GET', '/v1/healthz'))
    disarm.push(await timed(service, 'POST', '/v1/tx/disarm'))
    residentMiB = Math.max(residentMiB, service.residentMiB())
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  } while (performance.now() < end)
  return {
    healthzWorstMs: Math.max(...healthz),
    healthzMedianMs: middle(healthz),
    disarmWorstMs: Math.max(...disarm),
    disarmMedianMs: middle(disarm),
    residentMiB,
    rounds: healthz.length,
  }
}

function timed(service: Service, method: string, path: string): Promise<number> {
  const begunMs = performance.now()
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${service.adminToken}`, connection: 'close' }
    const request = http.request(service.url + path, { method, headers, agent: false }, (answer) => {
      answer.resume()
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve(performance.now() - begunMs)
        else reject(new Error(`${method} ${path} answered ${answer.statusCode}`))
      })
    })
    request.setTimeout(PATIENCE_MS, () => request.destroy(new Error(`${method} ${path}: no answer`)))
    request.once('error', reject)
    request.end()
  })
}

function middle(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

/** The idle service has about half of it. 250 are aimed at; 256 were seen with long lists on an idle machine. */
const MOST_RESIDENT_MIB = 300
/** With as many large files at once as there are people to send them: 231 to 269 on an idle machine, less on a busy one. */
const MOST_WITH_UPLOADS_MIB = 280
const UPLOADS = 3
const UPLOAD_BYTES = 16 * 1024 * 1024
const UPLOAD_ROWS = 50_000
/** On a machine that has its processors for this: of half of the requests. */
const QUIET_BOUNDS = { healthzMs: 200, disarmMs: 500, worstMs: 3_000 }
/** On one that does much else a request waits for its turn of the processor as well. */
const BUSY_BOUNDS = { healthzMs: 8_000, disarmMs: 12_000, worstMs: 12_000 }
/** Runnable processes beside this one from which on a machine is busy. */
const BUSY_LOAD = 3
const WATCH_MS = 4_000
const QUIET_MS = 1_000
/** What a machine that does much else adds to both. */
const SLOWER = 10
const SIMS = 1_000
/** Keys of 3GPP TS 35.208 test set 1. */
const KEYS = '465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf'

const LONG = { limitMs: 600_000 }
const attack = suite('e2e/attack', LONG)
const started = startedProcesses()
attack.after.each(started.endAll)

const get = (path: string, token?: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: x',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    '\r\n',
  ].join('\r\n')

interface Credentials {
  readonly viewer: string
  readonly issuer: string
}

async function world(): Promise<{ readonly service: Service; readonly port: number } & Credentials> {
  const service = await started.start({ env: { SVC_HSS_DRIVER: 'none' } })
  const mint = async (role: string): Promise<string> =>
    (await service.request('POST', '/v1/tokens', { body: { name: role, roles: [role] } })).body.token
  const limits = await service.request('PUT', '/v1/policy', {
    body: { rate_limits: { sim_issue_per_hour: 100_000 } },
  })
  assert.is(limits.status, 200, JSON.stringify(limits.body))
  assert.is((await service.request('POST', '/v1/sims', { body: { count: SIMS } })).status, 201)
  const port = Number(new URL(service.url).port)
  return { service, port, viewer: await mint('viewer'), issuer: await mint('sim:issuer') }
}

function report(name: string, seen: Seen): void {
  const ms = (value: number): string => `${Math.round(value)} ms`
  process.stdout.write(
    `# ${name}: resident ${Math.round(seen.residentMiB)} MiB, healthz ${ms(seen.healthzMedianMs)}, worst ` +
      `${ms(seen.healthzWorstMs)}; disarm ${ms(seen.disarmMedianMs)}, worst ${ms(seen.disarmWorstMs)}\n`,
  )
}

async function withstands(name: string, service: Service, against: readonly Attack[]): Promise<void> {
  const quiet = await watch(service, QUIET_MS)
  const running = await Promise.all(against.map(startAttack))
  try {
    const seen = await watch(service, WATCH_MS)
    report(name, seen)
    assert.ok(seen.residentMiB <= MOST_RESIDENT_MIB, `${seen.residentMiB} MiB`)
    const bounds = (loadavg()[0] ?? 0) > BUSY_LOAD ? BUSY_BOUNDS : QUIET_BOUNDS
    const within = (what: string, ms: number, bound: number, usual: number): void =>
      assert.ok(ms <= bound + SLOWER * usual, `${what}: ${ms} ms, ${usual} ms without the attack`)
    within('healthz', seen.healthzMedianMs, bounds.healthzMs, quiet.healthzMedianMs)
    within('disarm', seen.disarmMedianMs, bounds.disarmMs, quiet.disarmMedianMs)
    // Each comes over a new connection: where thousands are opened the kernel asks again for one after a second.
    const worstMs = Math.max(seen.healthzWorstMs, seen.disarmWorstMs)
    within('the longest', worstMs, bounds.worstMs, quiet.disarmMedianMs)
  } finally {
    await Promise.all(running.map((one) => one.end()))
  }
}

attack('is not taken down by one who pipelines documents and reads none', async () => {
  const { service, port } = await world()
  const document = await service.request('GET', '/v1/docs', { token: undefined })
  const asset = /(?:src|href)="\.\.(\/docs\/[^"]+\.(?:js|css))"/.exec(document.body)?.[1]
  assert.ok(asset, 'the page names a file')
  for (const path of [String(asset), '/v1/openapi.json']) {
    const text = get(path)
    await withstands(`1,200 × GET ${path}, 1 connection`, service, [
      { port, connections: 1, text, times: 1_200 },
    ])
    await withstands(`1,200 × GET ${path}, 10 connections that leave`, service, [
      { port, connections: 10, text, times: 1_200, leavesAfterMs: 500, isRepeated: true },
    ])
  }
})

attack('serves on while metrics are flooded without a credential', async () => {
  const { service, port } = await world()
  const text = get('/metrics')
  await withstands('1,200 × GET /metrics, unread, 10 connections', service, [
    { port, connections: 10, text, times: 1_200 },
  ])
  await withstands('GET /metrics for ever, read, 50 connections', service, [
    { port, connections: 50, text, times: 200, reads: true, isRepeated: true },
  ])
})

attack('serves on while a viewer asks for long lists', async () => {
  const { service, port, viewer } = await world()
  const text = get('/v1/sims?limit=500', viewer)
  for (const connections of [1, 10]) {
    await withstands(`long lists, unread, ${connections} connections`, service, [
      { port, connections, text, times: 500 },
    ])
    await withstands(`long lists, read, ${connections} connections`, service, [
      { port, connections, text, times: 500, reads: true, isRepeated: true },
    ])
  }
})

attack('holds no more of unfinished bodies than a share', async () => {
  const { service, port, issuer } = await world()
  const size = 16 * 1024 * 1024
  const head = [
    'POST /v1/sims/import HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${issuer}`,
    'Content-Type: text/csv',
    `Content-Length: ${size}`,
    '\r\n',
  ].join('\r\n')
  await withstands('150 unfinished bodies of 16 MiB', service, [
    {
      port,
      connections: 150,
      text: head + 'imsi,ki,opc\n'.padEnd(size - head.length - 64, '\n'),
      times: 1,
    },
  ])
})

attack('holds three large files at once without growing out of a small box', async () => {
  const { service } = await world()
  const seen: number[] = []
  let isOver = false
  const watched = eventually(async () => {
    seen.push(service.residentMiB())
    return isOver
  }, LONG.limitMs)
  const reports = await Promise.all(
    Array.from({ length: UPLOADS }, (_, i) => uploadLarge(service, i)),
  ).finally(() => {
    isOver = true
  })
  await watched
  for (const { status, body } of reports) assert.equal([status, body.imported], [200, UPLOAD_ROWS])
  const most = Math.max(...seen)
  process.stdout.write(`# ${UPLOADS} files of 16 MiB: resident ${Math.round(most)} MiB\n`)
  assert.ok(most <= MOST_WITH_UPLOADS_MIB, `${most} MiB`)
})

/** What an import of a file of the largest size and number of rows would do, asked for by somebody of their own. */
async function uploadLarge(service: Service, index: number): Promise<Answer> {
  const minted = await service.request('POST', '/v1/tokens', {
    body: { name: `issuer ${index}`, roles: ['sim:issuer'] },
  })
  const rows = Array.from(
    { length: UPLOAD_ROWS },
    (_, row) => `99999${String(index * UPLOAD_ROWS + row).padStart(10, '0')},${KEYS}`,
  )
  return await service.request('POST', '/v1/sims/import?dry_run=true', {
    token: minted.body.token,
    headers: { 'content-type': 'text/csv' },
    body: `imsi,ki,opc\n${rows.join('\n')}`.padEnd(UPLOAD_BYTES, '\n'),
  })
}

attack('lets people in while strangers hold connections', async () => {
  const { service, port } = await world()
  await withstands('4,200 connections that say nothing', service, [
    { port, connections: 2_100, text: '', times: 1 },
    { port, connections: 2_100, text: 'GET /v1/healthz HTTP/1.1\r\nHost: x\r\nX-A: ', times: 1 },
  ])
  await eventually(async () => (await service.request('GET', '/v1/healthz')).status === 200)
})

attack.run()
