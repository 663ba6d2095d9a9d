// Runs in a network and mount namespace of its own (see test/cluster-failover.test.ts). Prints what it measured.
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually } from '@steeple/testkit'
import pg from 'pg'
import { startLabCore } from '../lab-core.ts'
import { runSvc } from '../service.ts'
import { startTcpProxy } from '../tcp-proxy.ts'
import { ask, type Books, judge, startWriters } from './books.ts'
import { createFleet, type Fleet } from './fleet.ts'
import { API_PORT, DB_PORT, type Patroni, startPatroni } from './patroni.ts'

const NAMES = ['a', 'b', 'c'] as const
const WRITERS = 8
const FREEZE_MS = Number(process.env.SVC_FREEZE_MS ?? 60_000)
/** Our own takeover, on a machine whose every core has no more than a few to serve. */
const TAKEOVER_MS = 10_000
const FEW = 4
/** After the loss of the primary: from its successor's first write to ours. */
const WRITES_AGAIN_MS = 3_000
const FAILOVER_MS = 90_000
const PROBE_MS = 50
/** Longer than a lease of ours and than Patroni's. */
const CUT_MS = 15_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Writes of its own through the same proxy: when the database takes them. */
function databaseProbe(url: string): { readonly takenAt: number[]; stop(): void } {
  const takenAt: number[] = []
  let isOver = false
  const once = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 500,
      query_timeout: 1_000,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      while (!isOver) {
        await client.query('insert into probe (at) values (now())')
        takenAt.push(performance.now())
        await pause(PROBE_MS)
      }
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  void (async () => {
    while (!isOver) {
      await once().catch(() => undefined)
      await pause(PROBE_MS)
    }
  })()
  return {
    takenAt,
    stop: () => {
      isOver = true
    },
  }
}

interface World {
  readonly patroni: Patroni
  readonly fleet: Fleet
  readonly books: Books
  readonly takenAt: readonly number[]
  /** Between each instance and the database. */
  readonly cuts: ReadonlyMap<string, Cuttable>
  /** Between the proxy in front and each instance. */
  readonly fronts: ReadonlyMap<string, Cuttable>
}

const firstAfter = (times: readonly number[], sinceMs: number): number =>
  times.find((ms) => ms > sinceMs) ?? Number.POSITIVE_INFINITY
const say = (text: string): void => void process.stdout.write(`# ${text}\n`)
const others = (name: string): readonly string[] => NAMES.filter((one) => one !== name)

/** Another instance leads in time. */
async function takenOver(fleet: Fleet, from: string, sinceMs: number, why: string): Promise<string> {
  const next = await fleet.leader(others(from), TAKEOVER_MS * 3)
  const wallMs = Date.now() - (performance.now() - sinceMs)
  const tookMs = (await fleet.ledSinceMs(next, wallMs)) - wallMs
  say(`${why}: ${next} leads after ${Math.round(tookMs)} ms`)
  const load = (loadavg()[0] ?? 0) / availableParallelism()
  assert.ok(tookMs <= TAKEOVER_MS * Math.max(1, load / FEW), `${why}: ${Math.round(tookMs)} ms`)
  return next
}

/** Both take writes again, ours soon after the database. The loss itself shows as a gap in the probe's writes. */
async function writesAgain({ books, takenAt }: World, sinceMs: number, why: string): Promise<void> {
  const gapEnd = (times: readonly number[]): number => {
    const after = [sinceMs, ...times.filter((ms) => ms > sinceMs)]
    const gaps = after.slice(1).map((ms, i) => ({ ms, gap: ms - (after[i] ?? ms) }))
    const longest = gaps.toSorted((a, b) => b.gap - a.gap)[0]
    return longest !== undefined && longest.gap > 2_000 ? longest.ms : Number.NaN
  }
  await eventually(async () => !Number.isNaN(gapEnd(takenAt)), FAILOVER_MS)
  const databaseMs = gapEnd(takenAt)
  await eventually(
    async () => firstAfter(books.answeredAt, databaseMs) < Number.POSITIVE_INFINITY,
    FAILOVER_MS,
  )
  const oursMs = firstAfter(books.answeredAt, databaseMs)
  say(
    `${why}: the database takes writes after ${Math.round(databaseMs - sinceMs)} ms, the service ${Math.round(oursMs - databaseMs)} ms later`,
  )
  assert.ok(oursMs - databaseMs <= WRITES_AGAIN_MS, `${why}: ${Math.round(oursMs - databaseMs)} ms`)
}

async function leaderDies({ fleet }: World): Promise<void> {
  const first = await fleet.leader(NAMES, FAILOVER_MS)
  const atMs = performance.now()
  await fleet.of(first).kill()
  await takenOver(fleet, first, atMs, 'kill -9 of the leader')
  await fleet.start(first, { flags: flagsOf(first) })
}

async function leaderFreezes({ fleet }: World): Promise<void> {
  const leader = await fleet.leader(NAMES, FAILOVER_MS)
  const { child } = fleet.of(leader)
  const [atMs, wallMs] = [performance.now(), Date.now()]
  child.kill('SIGSTOP')
  const next = await takenOver(fleet, leader, atMs, `freeze of the leader for ${FREEZE_MS} ms`)
  await issue(fleet, next)
  await pause(FREEZE_MS - (performance.now() - atMs))
  child.kill('SIGCONT')
  await eventually(async () => (await fleet.seen(leader))?.role === 'follower', FAILOVER_MS)
  await issue(fleet, leader)
  await pause(3_000)
  const late = fleet.hssCalls().filter(({ instance, atMs: at }) => instance === leader && at > wallMs + 500)
  assert.equal(late, [], `${leader} calls the HSS after it was frozen`)
  say(
    `the leader that woke up is a follower and has made no call: ${fleet.hssCalls().length} calls by others`,
  )
}

async function leaderIsCutOff({ fleet, cuts }: World): Promise<void> {
  const leader = await fleet.leader(NAMES, FAILOVER_MS)
  const atMs = performance.now()
  cuts.get(leader)?.cut()
  await takenOver(fleet, leader, atMs, 'cut between the leader and the database')
  cuts.get(leader)?.mend()
  await eventually(async () => (await fleet.seen(leader))?.role === 'follower', FAILOVER_MS)
}

async function primaryDies(world: World): Promise<void> {
  const node = (await world.patroni.primary()) ?? 0
  const atMs = performance.now()
  world.patroni.signal(node, 'SIGKILL')
  await writesAgain(world, atMs, 'kill -9 of the primary')
  world.patroni.start(node)
  await world.patroni.whole()
}

async function primaryFreezes(world: World): Promise<void> {
  const node = (await world.patroni.primary()) ?? 0
  const atMs = performance.now()
  world.patroni.signal(node, 'SIGSTOP')
  await writesAgain(world, atMs, 'freeze of the primary')
  world.patroni.signal(node, 'SIGCONT')
  await world.patroni.whole()
}

async function primaryIsCutOff(world: World): Promise<void> {
  const node = (await world.patroni.primary()) ?? 0
  const atMs = performance.now()
  const away = ['hub', ...[1, 2, 3].filter((one) => one !== node)] as const
  for (const from of away) world.patroni.cut(node, from as number | 'hub')
  await writesAgain(world, atMs, 'cut around the primary')
  for (const from of away) world.patroni.mend(node, from as number | 'hub')
  await world.patroni.whole()
}

async function standbyIsCutOff({ patroni, books, takenAt }: World): Promise<void> {
  const node = (await patroni.primary()) ?? 0
  const [standby = 0] = await patroni.standbys()
  const atMs = performance.now()
  patroni.cut(node, standby)
  // A commit waits for the standby until Patroni names another.
  await pause(3_000)
  await eventually(
    async () => firstAfter(books.answeredAt, performance.now() - 500) < Number.POSITIVE_INFINITY,
    FAILOVER_MS,
  )
  say(
    `cut between primary and synchronous standby: writes are answered ${Math.round(performance.now() - atMs)} ms later; the database's last at ${Math.round((takenAt.at(-1) ?? 0) - atMs)} ms`,
  )
  patroni.mend(node, standby)
  await patroni.whole()
}

/** A cut that takes nobody's place away: the same leader leads, in the same epoch, and the others answer writes. */
async function keepsTheLeader(
  { fleet, books }: World,
  why: string,
  line: Pick<Cuttable, 'cut' | 'mend'>,
): Promise<void> {
  const leader = await fleet.leader(NAMES, FAILOVER_MS)
  const before = (await fleet.seen(leader))?.epoch
  const atMs = performance.now()
  line.cut()
  await pause(CUT_MS)
  const sinceMs = performance.now()
  await eventually(async () => firstAfter(books.answeredAt, sinceMs) < Number.POSITIVE_INFINITY, FAILOVER_MS)
  const during = books.answeredAt.filter((ms) => ms > atMs).length
  line.mend()
  await eventually(
    async () => (await Promise.all(NAMES.map((name) => fleet.seen(name)))).every(Boolean),
    FAILOVER_MS,
  )
  assert.is(await fleet.leader(NAMES, FAILOVER_MS), leader, `${why}: another leads`)
  assert.is((await fleet.seen(leader))?.epoch, before, `${why}: the epoch`)
  say(`${why} for ${CUT_MS} ms: ${leader} leads on, ${during} writes were answered meanwhile`)
}

async function followerIsCutOff(world: World): Promise<void> {
  const leader = await world.fleet.leader(NAMES, FAILOVER_MS)
  const [follower = ''] = others(leader)
  const line = world.cuts.get(follower)
  assert.ok(line)
  await keepsTheLeader(world, 'cut between a follower and the database', line)
  await issue(world.fleet, follower)
}

async function proxyIsCutOff(world: World): Promise<void> {
  const leader = await world.fleet.leader(NAMES, FAILOVER_MS)
  for (const name of [leader, ...others(leader).slice(0, 1)]) {
    const line = world.fronts.get(name)
    assert.ok(line)
    const who = name === leader ? 'the leader' : 'a follower'
    await keepsTheLeader(world, `cut between the proxy and ${who}`, line)
  }
}

async function standbysAreCutOff(world: World): Promise<void> {
  const { patroni } = world
  const primary = (await patroni.primary()) ?? 0
  const [one = 0, two = 0] = [1, 2, 3].filter((node) => node !== primary)
  const between = (node: number, from: number): Pick<Cuttable, 'cut' | 'mend'> => ({
    cut: () => patroni.cut(node, from),
    mend: () => patroni.mend(node, from),
  })
  await keepsTheLeader(world, 'cut between the two standbys', between(one, two))
  const [standby = 0] = await patroni.standbys()
  const replica = [one, two].find((node) => node !== standby) ?? 0
  await keepsTheLeader(world, 'cut between the primary and the other replica', between(primary, replica))
  await patroni.whole()
}

async function issue(fleet: Fleet, by: string): Promise<void> {
  const { status, body } = await ask(fleet, fleet.of(by).url, 'POST', '/v1/sims', { body: { count: 3 } })
  assert.is(status, 201, JSON.stringify(body))
  const sims = (body.sims as readonly { imsi_sha256_12: string }[]).map((sim) => sim.imsi_sha256_12)
  await eventually(async () => {
    const all = await Promise.all(sims.map((sim) => ask(fleet, fleet.of(by).url, 'GET', `/v1/sims/${sim}`)))
    return all.every((one) => one.body.provisioning.status === 'synced')
  }, FAILOVER_MS)
}

const portOf = (name: string): number => API_PORT + 101 + NAMES.indexOf(name as (typeof NAMES)[number])
const flagsOf = (name: string): readonly string[] => ['--listen', `127.0.0.1:${portOf(name)}`]

const dir = mkdtempSync(join(tmpdir(), 'steeple-cluster-'))
const dbUrl = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`
let patroni: Patroni | undefined
let fleet: Fleet | undefined
try {
  patroni = await startPatroni(dir)
  const direct = new pg.Client({ connectionString: dbUrl(DB_PORT) })
  await eventually(async () => {
    const one = new pg.Client({ connectionString: dbUrl(DB_PORT) })
    await one.connect()
    await one.end()
    return true
  })
  await direct.connect()
  await direct.query('create table probe (at timestamptz)')
  await direct.end()
  const cuts = new Map<string, Cuttable>()
  for (const name of NAMES) cuts.set(name, await cuttableTo(DB_PORT))
  const core = await startLabCore(join(dir, 'lab-core'))
  fleet = await createFleet({ dir, store: (name) => dbUrl(cuts.get(name)?.port ?? 0), env: core.env })
  for (const name of NAMES) await fleet.start(name, { flags: flagsOf(name) })
  const fronts = new Map<string, Cuttable>()
  for (const name of NAMES) fronts.set(name, await cuttableTo(portOf(name)))
  patroni.proxy(new Map([...fronts].map(([name, { port }]) => [name, port])))
  const front = { token: fleet.token, urls: () => [`http://127.0.0.1:${API_PORT}`] }
  await eventually(async () => (await ask(front, front.urls()[0] ?? '', 'GET', '/v1/healthz')).status === 200)
  const writers = startWriters(front, WRITERS)
  const probe = databaseProbe(dbUrl(DB_PORT))
  const world: World = { patroni, fleet, books: writers.books, takenAt: probe.takenAt, cuts, fronts }
  await eventually(async () => writers.books.answered.size > 20)
  await issue(fleet, 'a')
  for (const disturb of [
    leaderDies,
    leaderIsCutOff,
    followerIsCutOff,
    proxyIsCutOff,
    standbysAreCutOff,
    primaryDies,
    primaryFreezes,
    primaryIsCutOff,
    standbyIsCutOff,
    leaderFreezes,
  ])
    await disturb(world)
  probe.stop()
  const books = await writers.stop()
  await judge(front, fleet.of('a').url, books)
  const verdict = await runSvc(['audit', 'verify', '--data-dir', fleet.of('a').dataDir], {
    SVC_STORE_URL: dbUrl(DB_PORT),
  })
  assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
  say(
    `${books.answered.size} answered writes, each there once; ${books.replayed} were replayed; the audit trail is whole`,
  )
  await core.stop()
  process.exitCode = 0
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
} finally {
  await fleet?.end()
  patroni?.end()
  if (process.env.SVC_KEEP === undefined) rmSync(dir, { recursive: true, force: true })
  else say(dir)
}
process.exit()

/** A way to a port that can be cut: what goes in does not come out, and nobody is told. */
interface Cuttable {
  readonly port: number
  cut(): void
  mend(): void
  end(): void
}

/** A proxy on a free port of the loopback to `target`. */
async function cuttableTo(target: number): Promise<Cuttable> {
  let isCut = false
  const handOn = (from: Socket, to: Socket): void => {
    from.on('data', (chunk) => {
      // As on a wire that is cut: it is gone for good.
      if (!isCut) to.write(chunk)
    })
  }
  const proxy = await startTcpProxy(
    () => target,
    (inner, outer) => {
      handOn(inner, outer)
      handOn(outer, inner)
    },
  )
  return {
    port: proxy.port,
    cut: () => {
      isCut = true
    },
    mend: () => {
      isCut = false
      // Bytes were lost: what is left of those connections is of no use to anybody.
      proxy.cut()
    },
    end: () => void proxy.close(),
  }
}
