import {
  chmodSync,
  closeSync,
  constants,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, rounds, suite, testSeed } from '@steeple/testkit'
import { idsBeyond } from '../harness/event-client.ts'
import { type Launched, urlOf } from '../harness/launch.ts'
import { type Answer, runSvc, type Service, startedProcesses } from '../harness/service.ts'

/** Changes one byte of a file by `mask` (not 0) and gives its position. */
function flipByte(path: string, at: number, mask = 1): number {
  const file = openSync(path, 'r+')
  try {
    const byte = Buffer.alloc(1)
    readSync(file, byte, 0, 1, at)
    byte.writeUInt8(byte.readUInt8(0) ^ mask)
    writeSync(file, byte, 0, 1, at)
    return at
  } finally {
    closeSync(file)
  }
}

/** Changes a byte in the middle of each copy of a text (or of bytes) in a file and gives how many there were. */
function flipInText(path: string, text: string | Uint8Array): number {
  const bytes = readFileSync(path)
  const wanted = Buffer.from(text)
  let copies = 0
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
    flipByte(path, at + Math.floor(wanted.length / 2))
    copies++
  }
  return copies
}

/** The value that a statement with one row and one column gives. The file must not be in use. */
function valueIn(path: string, sql: string): unknown {
  const Connection = createRequire(import.meta.url)('better-sqlite3')
  const connection = new Connection(path, { readonly: true })
  try {
    return Object.values(connection.prepare(sql).get())[0]
  } finally {
    connection.close()
  }
}

/** Bytes of a file. */
function sizeOf(path: string): number {
  return statSync(path).size
}

/** Numbers from 0 up to below 1 that follow from `seed` alone (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const ADMIN = 'damage-test-admin-token-0123456789abcdef'
const FLIPS = rounds(80)
/** Flips in one copy: nearly all are where nothing stands, and a copy with several that tells the truth has told it of each. */
const TOGETHER = 5
const SEED = testSeed()
const SCAN_OVER = /"(store integrity checked|store is damaged|store integrity could not be checked)"/
const POLICY = { sim_swap_cooldown_hours: 71 }
const LISTENING = /"listening"/
const REPEATED = { name: 'token-repeated', roles: ['viewer'] }

const damage = suite('e2e/damage')
const started = startedProcesses()
damage.after.each(started.endAll)

/** A stopped service's data, and what its reads answered. */
interface Truth {
  readonly dataDir: string
  readonly viewer: string
  readonly answers: ReadonlyMap<string, string>
}

const READS = [
  '/v1/tokens',
  '/v1/tokens?limit=3',
  '/v1/policy',
  '/v1/nodes',
  '/v1/audit',
  '/v1/audit?limit=4&action=token.create',
  '/v1/tx/arm',
] as const

interface AuditPage {
  readonly entries: readonly { readonly seq: number }[]
}

let truth: Truth
/** Of the newest entry of its audit trail. */
let lastSeq = Number.POSITIVE_INFINITY

damage.before(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-damage-'))
  const service = await started.start({ dataDir, adminToken: ADMIN })
  for (let i = 0; i < 30; i++) await mint(service, { name: `token-number-${i}`, roles: ['viewer'] })
  await service.request('PUT', '/v1/policy', { body: POLICY, headers: { 'idempotency-key': 'policy-key' } })
  const { id } = (await mint(service, { name: 'to-be-deleted', roles: ['viewer'] })).body
  await service.request('DELETE', `/v1/tokens/${id}`)
  const repeated = await mint(service, REPEATED, 'repeated-key')
  const answers = new Map<string, string>()
  for (const path of READS) answers.set(path, lasting((await service.request('GET', path)).body))
  // A check that is not over goes on where it stopped: what is damaged before that, it would see the next time alone.
  await eventually(async () => SCAN_OVER.test(service.output()))
  await service.stop()
  const { entries } = JSON.parse(answers.get('/v1/audit') ?? '') as AuditPage
  truth = { dataDir, viewer: repeated.body.token, answers }
  lastSeq = Math.max(...entries.map(({ seq }) => seq))
})

damage.after(() => {
  started.endAll()
  rmSync(truth.dataDir, { recursive: true, force: true })
})

damage('reports a changed name of a token and serves all others', () =>
  withCopy(async (dir) => {
    assert.ok(flipInText(join(dir, 'svc.db'), 'token-number-17') > 0)
    const service = await started.start({ dataDir: dir, adminToken: ADMIN })
    await assertCorrupt(service, '/v1/tokens?limit=500')
    await assertTrue(service, ['/v1/policy', '/v1/nodes', '/v1/tx/arm'])
    assert.is((await mint(service, { name: 'after', roles: ['viewer'] })).status, 201)
    await assertReported(service, 'access_token')
    assert.is(await service.stop(), 0)
  }),
)

damage('reports a changed policy and lets nothing through that needs it', () =>
  withCopy(async (dir) => {
    assert.ok(flipInText(join(dir, 'svc.db'), '"sim_swap_cooldown_hours":71') > 0)
    const service = await started.start({ dataDir: dir, adminToken: ADMIN })
    await assertCorrupt(service, '/v1/policy')
    await assertTrue(service, ['/v1/tokens?limit=3'])
    const nodes = await service.request('GET', '/v1/nodes')
    assert.is(nodes.body.nodes?.[0]?.on_air, null, JSON.stringify(nodes.body))
    await assertReported(service, 'policy_bundle')
    assert.is(await service.stop(), 0)
  }),
)

damage('reports a changed node record', () =>
  withCopy(async (dir) => {
    const name = JSON.parse(truth.answers.get('/v1/nodes') ?? '').nodes[0].name
    // The name stands in other tables too; the row is found by its state behind it.
    assert.ok(flipInText(join(dir, 'svc.db'), `${name}provision`) > 0)
    const run = started.launch(serveArgs(dir), { env: { SVC_ADMIN_TOKEN: ADMIN } })
    await eventually(async () => run.child.exitCode !== null || SCAN_OVER.test(run.stdout()))
    if (run.child.exitCode !== null) {
      await assertRefusal(run)
      assert.match(run.stderr(), /nodes_node/)
      return
    }
    const url = await urlOf(run)
    const answer = await fetch(`${url}/v1/nodes`, { headers: { authorization: `Bearer ${ADMIN}` } })
    assert.is(answer.status, 500)
    assert.is(((await answer.json()) as Answer['body']).error.code, 'store_corrupt')
    assert.match(run.stdout(), /"store is damaged"/)
  }),
)

damage('says of a column whose name was damaged that it is not there, and does not start', () =>
  withCopy(async (dir) => {
    // The letter in the middle becomes another one.
    assert.ok(flipInText(join(dir, 'svc.db'), 'pal_name ') > 0)
    const run = started.launch(serveArgs(dir), { env: { SVC_ADMIN_TOKEN: ADMIN } })
    await assertRefusal(run)
    assert.match(run.stderr(), /^store_corrupt: .*principal_name.*restore a backup/)
  }),
)

damage('names the audit entry that was changed', () =>
  withCopy(async (dir) => {
    const entries = JSON.parse(truth.answers.get('/v1/audit') ?? '').entries
    const changed =
      entries.find(
        ({ action }: { action: string }) => action === 'policy.update' || action === 'policy.put',
      ) ?? entries[5]
    assert.ok(flipInText(join(dir, 'svc.db'), changed.hash) > 0)
    const verdict = await runSvc(['audit', 'verify', '--data-dir', dir])
    assert.is(verdict.code, 1, verdict.stdout)
    assert.match(verdict.stderr, new RegExp(`entry ${changed.seq}\\b`))
    const service = await started.start({ dataDir: dir, adminToken: ADMIN })
    await assertCorrupt(service, '/v1/audit?limit=500')
    await assertTrue(service, ['/v1/tokens', '/v1/policy', '/v1/nodes'])
    await assertReported(service, 'kernel_audit')
    assert.is(await service.stop(), 0)
  }),
)

damage('sends a gap in the place of a changed event, and those behind it', () =>
  withCopy(async (dir) => {
    const path = join(dir, 'svc.db')
    const middle = "from kernel_outbox where type = 'token.create' order by id limit 1 offset 9"
    const id = Number(valueIn(path, `select id ${middle}`))
    const subject = String(valueIn(path, `select subject ${middle}`))
    assert.ok(flipInText(path, `${subject}{`) > 0)
    const service = await started.start({ dataDir: dir, adminToken: ADMIN })
    const ids = await idsBeyond(`${service.url}/v1/events`, ADMIN, id)
    assert.not.ok(ids.includes(id), 'the changed event was sent')
    await assertReported(service, 'kernel_outbox')
    assert.is(await service.stop(), 0)
  }),
)

damage('does not repeat a changed result of an idempotent request', () =>
  withCopy(async (dir) => {
    const path = join(dir, 'svc.db')
    const sealed = 'from kernel_idempotency where sealed_reply is not null limit 1'
    assert.ok(flipInText(path, valueIn(path, `select sealed_reply ${sealed}`) as Uint8Array) > 0)
    const open = 'from kernel_idempotency where reply is not null limit 1'
    assert.ok(flipInText(path, String(valueIn(path, `select reply ${open}`))) > 0)
    const service = await started.start({ dataDir: dir, adminToken: ADMIN })
    const repeats = [
      await mint(service, REPEATED, 'repeated-key'),
      await service.request('PUT', '/v1/policy', {
        body: POLICY,
        headers: { 'idempotency-key': 'policy-key' },
      }),
    ]
    for (const answer of repeats) {
      assert.is(answer.status, 500, JSON.stringify(answer.body))
      assert.is(answer.body.error.code, 'store_corrupt')
    }
    assert.is((await mint(service, { name: 'other', roles: ['viewer'] }, 'other-key')).status, 201)
    await assertReported(service, 'kernel_idempotency')
    assert.is(await service.stop(), 0)
  }),
)

damage(
  'finds a SIM that its index hides, and says of nothing that it is not there once it knows that it may be',
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'steeple-index-'))
    const env = { SVC_HSS_DRIVER: 'none' }
    try {
      let service = await started.start({ dataDir: base, adminToken: ADMIN, env })
      const { body } = await service.request('POST', '/v1/sims', { body: { count: 12 } })
      const hash: string = body.sims[7].imsi_sha256_12
      await service.stop()
      const path = join(base, 'svc.db')
      const index = "select rootpage from sqlite_schema where name = 'sqlite_autoindex_sims_sim_1'"
      const from = (Number(valueIn(path, index)) - 1) * 4_096
      const at = readFileSync(path).indexOf(hash, from)
      assert.ok(at > from && at < from + 4_096)
      flipByte(path, at + 3, 0x40)

      service = await started.start({ dataDir: base, adminToken: ADMIN, env })
      const read = (id: string) => service.request('GET', `/v1/sims/${id}`)
      assert.is((await read(hash)).body.state, 'issued')
      await assertReported(service, '(database file)')
      assert.is((await read(hash)).body.state, 'issued')
      const unknown = await read('0123456789ab')
      assert.equal([unknown.status, unknown.body.error.code], [500, 'store_corrupt'])
      const bulk = await service.request('POST', '/v1/sims/bulk', {
        body: { action: 'suspend', ids: [hash] },
      })
      assert.not.match(JSON.stringify(bulk.body), /sim_not_found/)
      assert.is((await read(hash)).body.state, 'suspended', JSON.stringify(bulk.body))
      assert.is(await service.stop(), 0)
    } finally {
      rmSync(base, { recursive: true, force: true })
    }
  },
)

damage(
  'serves the truth, an error or a warning after any flipped byte',
  async () => {
    const random = randomFrom(SEED)
    const size = sizeOf(join(truth.dataDir, 'svc.db'))
    const flips = Array.from({ length: FLIPS }, () => ({
      at: Math.floor(random() * size),
      mask: 1 + Math.floor(random() * 255),
    }))
    const verdicts = { refused: 0, truth: 0, error: 0, reported: 0 }
    const queue = groupsOf(flips, TOGETHER)
    let copies = 0
    const work = async (): Promise<void> => {
      for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
        copies++
        const verdict = await verdictOf(group)
        if (verdict === 'truth' || group.length === 1) verdicts[verdict] += group.length
        // Whichever of them it was: each is tried alone then, and judged by that.
        else queue.push(...groupsOf(group, 1))
      }
    }
    await Promise.all([work(), work()])
    process.stdout.write(
      `# seed ${SEED}: ${FLIPS} flips in ${size} bytes, in ${copies} copies: ${verdicts.truth} told the truth, ${verdicts.error} answered errors, ${verdicts.reported} reported the store, ${verdicts.refused} refused to start\n`,
    )
    const judged = verdicts.truth + verdicts.error + verdicts.reported + verdicts.refused
    assert.is(judged, FLIPS, 'each flip has a verdict')
  },
  { limitMs: rounds(600_000) },
)

damage('never drops a durable commit for a damaged WAL frame, the last one included', async () => {
  const base = mkdtempSync(join(tmpdir(), 'steeple-wal-'))
  try {
    const service = await started.start({ dataDir: base, adminToken: ADMIN })
    const names: string[] = []
    for (let i = 0; i < 20; i++) {
      assert.is((await mint(service, { name: `wal-${i}`, roles: ['viewer'] })).status, 201)
      names.push(`wal-${i}`)
    }
    await service.kill()
    const size = sizeOf(join(base, 'svc.db-wal'))
    // In its header, in the middle and in the last frame; store-place.test tries many places.
    assert.ok(await afterWalFlip(base, 6, names), 'a damaged header was not noticed')
    for (const at of [Math.floor(size / 2), size - 8_000]) await afterWalFlip(base, at, names)
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
})

/** Whether the start was refused; otherwise all names are there. */
function afterWalFlip(base: string, at: number, names: readonly string[]): Promise<boolean> {
  return withCopy(async (dir) => {
    flipByte(join(dir, 'svc.db-wal'), at)
    const run = started.launch(serveArgs(dir), { env: { SVC_ADMIN_TOKEN: ADMIN } })
    await eventually(async () => run.child.exitCode !== null || LISTENING.test(run.stdout()))
    if (run.child.exitCode !== null) {
      await assertRefusal(run)
      assert.match(run.stderr(), /-wal is damaged|lacks the last \d+ answered commit/)
      return true
    }
    const { body } = await read(await urlOf(run), '/v1/tokens?limit=500')
    const found = new Set(body.tokens.map(({ name }: { name: string }) => name))
    assert.equal(
      names.filter((name) => !found.has(name)),
      [],
      `byte ${at} of the WAL`,
    )
    run.child.kill('SIGKILL')
    await run.exited
    return false
  }, base)
}

type Verdict = 'refused' | 'truth' | 'error' | 'reported'

/** A byte of the store and how it changes. */
interface Flip {
  readonly at: number
  readonly mask: number
}

function groupsOf(flips: readonly Flip[], size: number): (readonly Flip[])[] {
  const count = Math.ceil(flips.length / size)
  return Array.from({ length: count }, (_, nth) => flips.slice(nth * size, (nth + 1) * size))
}

function verdictOf(flips: readonly Flip[]): Promise<Verdict> {
  const where = `seed ${SEED}, ${flips.map(({ at, mask }) => `byte ${at} ^ ${mask}`).join(', ')}`
  return withCopy(async (dir) => {
    for (const { at, mask } of flips) flipByte(join(dir, 'svc.db'), at, mask)
    const run = started.launch(serveArgs(dir), { env: { SVC_ADMIN_TOKEN: ADMIN } })
    await eventually(async () => run.child.exitCode !== null || SCAN_OVER.test(run.stdout()))
    if (run.child.exitCode !== null) {
      await assertRefusal(run, where)
      return 'refused'
    }
    const url = await urlOf(run)
    const paths = [...truth.answers.keys()]
    const seen = await Promise.all(paths.map((path) => judge(url, path, truth.answers.get(path) ?? '')))
    // A token that is not found is an error, one that is let in must be the viewer.
    seen.push(await judge(url, '/v1/policy', truth.answers.get('/v1/policy') ?? '', truth.viewer))
    if (seen.includes('other')) {
      const others = [...paths, 'the policy for the viewer'].filter((_, at) => seen[at] === 'other')
      const { body } = await read(url, '/v1/health')
      const store = body.components?.find(({ name }: { name: string }) => name === 'store')
      assert.is(
        store?.status,
        'down',
        `${where}: ${others} differs and /v1/health says ${JSON.stringify(store)}`,
      )
    }
    run.child.kill('SIGKILL')
    await run.exited
    if (/"store is damaged"/.test(run.stdout())) return 'reported'
    return seen.every((one) => one === 'truth') ? 'truth' : 'error'
  })
}

async function judge(
  url: string,
  path: string,
  expected: string,
  token = ADMIN,
): Promise<'truth' | 'error' | 'other'> {
  const { status, body } = await read(url, path, token)
  assert.is.not(status, 404, path)
  if (status !== 200) return 'error'
  return lasting(body) === expected ? 'truth' : 'other'
}

async function read(
  url: string,
  path: string,
  token = ADMIN,
): Promise<{ readonly status: number; readonly body: Answer['body'] }> {
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
  return { status: answer.status, body: await answer.json() }
}

function serveArgs(dir: string): readonly string[] {
  return ['--first-start', '--data-dir', dir, '--listen', '127.0.0.1:0']
}

async function assertRefusal(run: Launched, where = ''): Promise<void> {
  // A process has its exit code before the last of what it wrote has come.
  await run.exited
  const text = run.stderr().trimEnd()
  assert.is(run.child.exitCode, 1, `${where}: ${text}`)
  assert.match(text, /^[a-z_]+: .{10,}$/, `${where}: ${text}`)
}

async function withCopy<T>(work: (dir: string) => Promise<T>, from: string = truth.dataDir): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'steeple-damaged-'))
  try {
    cpSync(from, dir, { recursive: true, mode: constants.COPYFILE_FICLONE, preserveTimestamps: true })
    for (const name of readdirSync(join(dir, 'keys'))) chmodSync(join(dir, 'keys', name), 0o600)
    chmodSync(join(dir, 'keys'), 0o700)
    return await work(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function mint(service: Service, body: object, key?: string): Promise<Answer> {
  return service.request('POST', '/v1/tokens', {
    body,
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  })
}

async function assertCorrupt(service: Service, path: string): Promise<void> {
  const { status, body } = await service.request('GET', path)
  assert.is(status, 500, `${path}: ${JSON.stringify(body).slice(0, 300)}`)
  assert.is(body.error.code, 'store_corrupt')
}

async function assertTrue(service: Service, paths: readonly string[]): Promise<void> {
  for (const path of paths)
    assert.is(lasting((await service.request('GET', path)).body), truth.answers.get(path), path)
}

/** The body as text, without what changes by itself: when a node was seen, how it fares and what ails it, and what is audited of that. */
function lasting(body: Answer['body']): string {
  const own = { last_seen: undefined, state: undefined, degraded_reason: undefined, incidents: undefined }
  if (Array.isArray(body.entries)) {
    const { entries } = body as AuditPage
    return JSON.stringify({ ...body, entries: entries.filter(({ seq }) => seq <= lastSeq) })
  }
  if (!Array.isArray(body.nodes)) return JSON.stringify(body)
  return JSON.stringify({ ...body, nodes: body.nodes.map((node: object) => ({ ...node, ...own })) })
}

/** Health, log and doctor name the table; healthz goes on. */
async function assertReported(service: Service, table: string): Promise<void> {
  const store = async (): Promise<{ status: string; detail: string }> =>
    (await service.request('GET', '/v1/health')).body.components.find(
      ({ name }: { name: string }) => name === 'store',
    )
  // What is found first may be in another table.
  await eventually(async () => {
    const { status, detail } = await store()
    return status === 'down' && detail.includes(table)
  })
  assert.is((await service.request('GET', '/v1/healthz')).status, 200)
  const line = (): string | undefined =>
    service
      .output()
      .split('\n')
      .find((text) => text.includes('"store is damaged"') && text.includes(table))
  await eventually(async () => line() !== undefined)
  assert.match(line() ?? '', '"level":"error"')
  const doctor = await runSvc(['doctor', '--data-dir', service.dataDir], { SVC_ADMIN_TOKEN: ADMIN })
  assert.is(doctor.code, 1, doctor.stdout + doctor.stderr)
  assert.ok(doctor.stdout.includes(table), doctor.stdout + doctor.stderr)
}

damage.run()
