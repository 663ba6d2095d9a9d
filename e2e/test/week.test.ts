import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  assert,
  enterOwnMachine,
  eventually,
  rounds,
  seededDraw,
  stretched,
  suite,
  testSeed,
} from '@steeple/testkit'
import { imsiHashOf, TEST_KI, TEST_OPC } from '../harness/hss/sims.ts'
import { DBCTL, type LabPhone, type LabProcess, startLabCore } from '../harness/lab-core.ts'
import type { Box } from '../harness/mesh/box.ts'
import { ask as askBox, joinMesh, membersAt, type Village, village, WAIT_MS } from '../harness/mesh/mesh.ts'
import { METERED, measuredIn } from '../harness/metered-lab.ts'
import { type Air, nowMs, openAir } from '../harness/radio/air.ts'
import { OPEN, radioConfig } from '../harness/radio/box.ts'

enterOwnMachine(import.meta.filename)

/*
 * Days of boxes that share their SIMs, in minutes. Clocks go on in steps; boxes are killed, cut off and put out of the mesh, SIMs
 * suspended and revoked, transmitters armed, their licences end. What is true is asked of cores, phones and the air. What should be
 * goes by what was done: when two boxes could last hear of each other, and what the clock of a box was set to.
 */

/** Steps of 20 to 60 simulated minutes: some hours, and a week in `npm run soak`. */
const STEPS = rounds(1) > 1 ? 250 : 8
const BOXES = STEPS > 100 ? 5 : 3
const SIMS = 2
const MOST_SIMS = 4
const MINUTE = 60
const HOUR = 3_600
const LEASE_S = 4 * HOUR
const DAY_MS = 86_400_000
const MOST_SKEW_MIN = 40
/** What is over is gone: a home speaks to each box at least each 30 s, and a look at leases comes each 2 s. */
const HELD_MS = 45_000
const SILENT_MS = 6_000
const CONTROL = 'http://127.0.0.2:9091'
const LIMIT = { limitMs: 600_000 + STEPS * 30_000 }

const week = suite('e2e/week')
const seed = testSeed()
const draw = seededDraw(seed)
const folder = mkdtempSync(join(tmpdir(), 'steeple-week-'))

/** A box, and what was done to it. Times are seconds. */
interface Stand {
  readonly box: Box
  readonly labDir: string
  readonly air: Air
  readonly lab: LabProcess
  isCut: boolean
  isMember: boolean
  /** Of whom it knows that they are out of the mesh. */
  readonly out: Set<Stand>
  /** How far its clock is from that of the week, and how far the one that it believes is ahead of the real one. */
  skewS: number
  believedS: number
  /** The latest that its own clock has shown: what it heard then holds until that and a lease. */
  peakS: number
  isDoubting: boolean
  /** Of its transmitter: armed, in the list, and until when its licence holds by its own clock. */
  isArmed: boolean
  isListed: boolean
  licenceEndS: number
  /** The latest by its own clock at which it can have heard of others that it can hear nothing of now. */
  readonly heardS: Map<Stand, number>
}

interface Sim {
  readonly home: Stand
  readonly imsi: string
  readonly hash: string
  state: 'active' | 'suspended' | 'revoked'
}

const stands: Stand[] = []
const sims: Sim[] = []
const done: Record<string, number> = {}
let all: Village
let aheadS = 0
let checks = 0

/** What was done in each step, with the box of which it was. */
const history: string[] = []
let last = ''

function pick<T extends object>(list: readonly T[]): T | undefined {
  const one = list[draw(list.length)]
  if (one !== undefined && 'box' in one) last = (one as unknown as Stand).box.name
  return one
}
const realS = (): number => Date.now() / 1_000
const timeAt = (stand: Stand): number => realS() + stand.believedS
const runs = ({ box }: Stand): boolean => box.isRunning()
const isReached = (stand: Stand): boolean => runs(stand) && !stand.isCut
/** Whether two may speak: who has not heard that one of them is out goes on. */
const isLinked = (one: Stand, other: Stand): boolean =>
  [one, other].every((stand) => isReached(stand) && ![one, other].some((of) => stand.out.has(of)))

const ask = (stand: Stand, method: string, path: string, body?: object) =>
  askBox(stand.box, method, path, body)

// The truth.

/** Who may attach at a core, past the product. */
function servedAt({ labDir }: Stand): ReadonlySet<string> {
  const served = new Set<string>()
  const lines = readFileSync(join(labDir, 'subscribers.jsonl'), 'utf8').split('\n').slice(0, -1)
  for (const line of lines) {
    const [imsi, doc] = JSON.parse(line) as [string, { readonly slice: readonly unknown[] } | null]
    served.delete(imsi)
    if (doc !== null && doc.slice.length > 0) served.add(imsi)
  }
  return served
}

function phonesAt({ box }: Stand, method = 'GET', path = '', body: unknown = {}): readonly LabPhone[] {
  const data = method === 'GET' ? [] : ['-H', 'content-type: application/json', '-d', JSON.stringify(body)]
  const answer = JSON.parse(
    box.place.run('curl', '-sS', '-X', method, ...data, `${CONTROL}/phones${path}`),
  ) as LabPhone | { readonly phones?: readonly LabPhone[]; readonly error?: string }
  if ('phone' in answer) return [answer]
  if (answer.phones === undefined) throw new Error(`${box.name}: ${path}: ${answer.error}`)
  return answer.phones
}

async function isSilent({ air }: Stand): Promise<boolean> {
  return (await air.since(nowMs() - 300)).samples === 0
}

// What should be.

/** Why a core must not serve a SIM now; undefined where it may. */
function overAt(stand: Stand, { home, state }: Sim): string | undefined {
  if (home === stand) return runs(stand) && state !== 'active' ? state : undefined
  if (!runs(stand)) return undefined
  const [root = stand] = stands
  if (isReached(root) && isReached(stand) && !(home.isMember && stand.isMember))
    return 'one is out of the mesh'
  const heardS = stand.heardS.get(home)
  const overS = heardS === undefined ? 0 : timeAt(stand) - heardS - LEASE_S
  if (heardS !== undefined)
    return overS > MINUTE ? `its lease is over for ${Math.round(overS / MINUTE)} min` : undefined
  return state === 'active' ? undefined : state
}

/** Why a radio must not be on the air; undefined where it may. */
function barredAt(stand: Stand): string | undefined {
  if (!runs(stand)) return 'it does not run'
  if (!stand.isArmed) return 'disarmed'
  if (!stand.isListed) return 'its allow-list is empty'
  return timeAt(stand) > stand.licenceEndS ? 'its licence is over' : undefined
}

/** All that is wrong now. */
async function wrongs(): Promise<readonly string[]> {
  const found: string[] = []
  for (const stand of stands) {
    const served = servedAt(stand)
    const phones = phonesAt(stand)
    for (const sim of sims) {
      const over = overAt(stand, sim)
      if (over === undefined) continue
      checks += 1
      const phone = phones.find((one) => one.phone === sim.hash)
      if (served.has(sim.imsi))
        found.push(`${stand.box.name} serves ${sim.hash} of ${sim.home.box.name}: ${over}`)
      else if (phone?.state === 'connected') found.push(`${stand.box.name} has ${sim.hash} on: ${over}`)
    }
  }
  return found
}

async function holds(said: string): Promise<void> {
  let found: readonly string[] = []
  await eventually(async () => {
    found = await wrongs()
    return found.length === 0
  }, stretched(HELD_MS)).catch(() => assert.equal(found, [], said))
  hearOfRoot()
  for (const stand of stands) {
    const barred = barredAt(stand)
    checks += 1
    if (barred !== undefined)
      await eventually(() => isSilent(stand), stretched(SILENT_MS)).catch(() =>
        assert.unreachable(`${said}: ${stand.box.name} is on the air: ${barred}`),
      )
  }
}

/** Octets of a SIM that its home has counted, and that its phones have moved at all cores. */
async function countedOf({ home, hash }: Sim): Promise<number> {
  const at = (ms: number): string => new Date(ms).toISOString()
  const query = `from=${at(Date.now() - 10 * DAY_MS)}&to=${at(Date.now() + 30 * DAY_MS)}&step=day`
  const { series } = await ask(home, 'GET', `/v1/sims/${hash}/usage?${query}`)
  return (series as readonly { readonly up_bytes: number; readonly down_bytes: number }[]).reduce(
    (sum, { up_bytes: up, down_bytes: down }) => sum + up + down,
    0,
  )
}

function movedOf({ hash }: Sim): number {
  return stands
    .flatMap((stand) => phonesAt(stand))
    .filter(({ phone }) => phone === hash)
    .reduce((sum, { total }) => sum + total.up_bytes + total.down_bytes, 0)
}

async function exact(sim: Sim, said: string): Promise<void> {
  checks += 1
  let counted = -1
  const moved = movedOf(sim)
  await eventually(async () => {
    counted = await countedOf(sim)
    return counted === moved
  }, WAIT_MS).catch(() => assert.is(counted, moved, `${said}: octets of ${sim.hash} of ${sim.home.box.name}`))
}

// What happens.

/** Who reaches the root has heard by now of those that are out. */
function hearOfRoot(): void {
  const [root] = stands
  if (root === undefined || !isReached(root)) return
  for (const gone of stands.filter(({ isMember }) => !isMember)) {
    for (const stand of stands.filter((one) => isReached(one) && !one.out.has(gone))) {
      part([stand, gone])
      stand.out.add(gone)
    }
  }
  meet()
}

/** Before boxes lose each other: until now they have heard of each other. */
function part(lost: readonly Stand[]): void {
  for (const one of lost)
    for (const other of stands)
      if (other !== one && isLinked(one, other)) {
        for (const [at, of] of [
          [one, other],
          [other, one],
        ] as const)
          at.heardS.set(of, peakOf(at))
      }
}

function peakOf(stand: Stand): number {
  stand.peakS = Math.max(stand.peakS, timeAt(stand))
  return stand.peakS
}

function meet(): void {
  for (const one of stands)
    for (const other of stands) if (other !== one && isLinked(one, other)) one.heardS.delete(other)
}

async function setClock(stand: Stand, isConfirmed = true): Promise<void> {
  peakOf(stand)
  stand.box.shiftClock(aheadS + stand.skewS)
  if (!isConfirmed || !runs(stand)) return
  await ask(stand, 'POST', '/v1/clock/confirm', {})
  stand.believedS = aheadS + stand.skewS
  stand.isDoubting = false
}

async function restart(stand: Stand): Promise<void> {
  if (stand.isDoubting) stand.skewS = 0
  stand.box.shiftClock(aheadS + stand.skewS)
  await stand.box.start()
  await setClock(stand)
  meet()
}

function cut({ box }: Stand, isOff: boolean): void {
  const table = ['nft', isOff ? 'add' : 'delete', 'table', 'inet', 'cut'] as const
  box.place.run(...table)
  if (!isOff) return
  // Both ways: what a connection that is open still carries out would be heard.
  for (const [hook, end] of [
    ['input', 'saddr'],
    ['output', 'daddr'],
  ]) {
    box.place.run('nft', `add chain inet cut ${hook} { type filter hook ${hook} priority 0; }`)
    box.place.run('nft', `add rule inet cut ${hook} ip ${end} 10.9.0.1-10.9.0.200 drop`)
  }
}

async function issue(home: Stand): Promise<void> {
  const imsi = `99999${String(sims.length + 1).padStart(10, '0')}`
  const hash = imsiHashOf(imsi)
  await ask(home, 'POST', '/v1/sims/import', { sims: [{ imsi, ki: TEST_KI, opc: TEST_OPC }] })
  await ask(home, 'PUT', `/v1/sims/${hash}/reach`, { reach: 'mesh' })
  sims.push({ home, imsi, hash, state: 'active' })
}

async function permitAll(one: Stand): Promise<void> {
  // One that is out and has not heard of it yet hears of nobody new.
  for (const other of stands) {
    if (other === one || !other.isMember) continue
    for (const [at, to] of [
      [one, other],
      [other, one],
    ] as const)
      if (isLinked(at, to))
        await eventually(
          () => ask(at, 'PUT', `/v1/roaming/boxes/${to.box.nodeId}`, { permitted: true }),
          WAIT_MS,
        )
  }
}

async function setPolicy(stand: Stand): Promise<void> {
  const { spectrum, ...others } = OPEN as {
    readonly spectrum: { readonly license: object; readonly allow_list: unknown }
  }
  const expires_at = new Date(stand.licenceEndS * 1_000).toISOString()
  const license = { ...spectrum.license, expires_at }
  const allow_list = stand.isListed ? spectrum.allow_list : []
  await ask(stand, 'PUT', '/v1/policy', { ...others, spectrum: { license, allow_list } })
}

/** A phone comes to a box and moves data. False where none can. */
async function use(): Promise<boolean> {
  const stand = pick(stands.filter(runs))
  const served = stand === undefined ? undefined : servedAt(stand)
  const sim = pick(sims.filter((one) => served?.has(one.imsi)))
  if (stand === undefined || sim === undefined || overAt(stand, sim) !== undefined) return false
  const { imsi, hash } = sim
  const phone = () => phonesAt(stand).find((one) => one.phone === hash)
  if (phone() === undefined) phonesAt(stand, 'POST', '', [{ imsi, ki: TEST_KI, opc: TEST_OPC }])
  // Of a box that does not hear of the home the lease may end meanwhile.
  const isGone = () => !isLinkedHome(stand, sim) && !servedAt(stand).has(imsi)
  await eventually(() => {
    if (phone()?.state === 'connected' || isGone()) return true
    for (const action of ['power-off', 'power-on']) phonesAt(stand, 'POST', `/${hash}/${action}`)
    return phone()?.state === 'connected'
  }, stretched(HELD_MS)).catch(() =>
    assert.unreachable(`seed ${seed}: ${stand.box.name} does not let ${hash} on: ${JSON.stringify(phone())}`),
  )
  if (isGone()) return false
  const totalOf = (): number => {
    const { total } = phone() ?? {}
    return (total?.up_bytes ?? 0) + (total?.down_bytes ?? 0)
  }
  const [before, counted] = [totalOf(), await countedAt(stand)]
  const octets = { up_bytes: 1_000 + draw(50_000), down_bytes: 1_000 + draw(50_000) }
  try {
    phonesAt(stand, 'POST', `/${hash}/data`, octets)
  } catch (error) {
    if (isGone()) return false
    throw error
  }
  if (stands.every((one) => !one.isDoubting && isLinkedHome(one, sim)) && draw(2) === 0) {
    count('kill before it is counted')
    part([stand])
    await stand.box.kill()
    await restart(stand)
    await exact(sim, 'after a kill')
    return true
  }
  // What is under way when a clock jumps by half an hour would have been under way for so long.
  await eventually(async () => {
    const now = await countedAt(stand)
    return now.held === 0 && now.counted - counted.counted >= totalOf() - before
  }, WAIT_MS)
  return true
}

const isLinkedHome = (stand: Stand, { home }: Sim): boolean => stand === home || isLinked(stand, home)

async function countedAt(stand: Stand): Promise<ReturnType<typeof measuredIn>> {
  return measuredIn(String(await ask(stand, 'GET', '/metrics')))
}

const count = (what: string): void => {
  done[what] = (done[what] ?? 0) + 1
}

/** What may happen in a step, by weight; false where it cannot now. */
const ACTS: readonly (readonly [string, number, () => Promise<boolean> | boolean])[] = [
  ['use', 6, use],
  [
    'kill',
    2,
    async () => {
      const stand = pick(stands.filter(runs))
      if (stand === undefined) return false
      part([stand])
      await stand.box.kill()
      return true
    },
  ],
  [
    'start',
    3,
    async () => {
      const stand = pick(stands.filter((one) => !runs(one)))
      if (stand === undefined) return false
      await restart(stand)
      return true
    },
  ],
  [
    'cut',
    2,
    () => {
      const stand = pick(stands.filter(({ isCut }) => !isCut))
      if (stand === undefined) return false
      part([stand])
      cut(stand, true)
      stand.isCut = true
      return true
    },
  ],
  [
    'heal',
    2,
    () => {
      const stand = pick(stands.filter(({ isCut }) => isCut))
      if (stand === undefined) return false
      heal(stand)
      return true
    },
  ],
  [
    'skew',
    2,
    async () => {
      const stand = pick(stands.filter(({ skewS }) => skewS === 0))
      if (stand === undefined) return false
      stand.skewS = (draw(2) === 0 ? 1 : -1) * (1 + draw(MOST_SKEW_MIN)) * MINUTE
      await setClock(stand)
      return true
    },
  ],
  [
    'doubt',
    1,
    async () => {
      const stand = pick(stands.filter((one) => runs(one) && !one.isDoubting))
      if (stand === undefined) return false
      stand.skewS = 20 * HOUR
      stand.isDoubting = true
      await setClock(stand, false)
      return true
    },
  ],
  [
    'right clock',
    3,
    async () => {
      const stand = pick(stands.filter(({ skewS }) => skewS !== 0))
      if (stand === undefined) return false
      stand.skewS = 0
      await setClock(stand)
      return true
    },
  ],
  [
    'issue',
    1,
    async () => {
      const home = pick(stands.filter(runs))
      if (home === undefined || sims.filter((sim) => sim.home === home).length >= MOST_SIMS) return false
      await issue(home)
      return true
    },
  ],
  ['suspend', 3, () => change('active', 'suspend', 'suspended')],
  ['resume', 3, () => change('suspended', 'resume', 'active')],
  ['revoke', 1, () => change('active', 'revoke', 'revoked')],
  [
    'expel',
    1,
    async () => {
      const [root, ...others] = stands
      const stand = pick(others.filter(({ isMember }) => isMember))
      if (root === undefined || stand === undefined || !runs(root)) return false
      part([stand])
      await ask(root, 'POST', `/v1/nodes/${stand.box.nodeId}/leave`, {})
      stand.isMember = false
      root.out.add(stand)
      meet()
      return true
    },
  ],
  [
    'join',
    2,
    async () => {
      const stand = pick(stands.filter(({ isMember }) => !isMember))
      if (stand === undefined) return false
      return await comeBack(stand)
    },
  ],
  [
    'arm',
    4,
    async () => {
      const stand = pick(stands.filter((one) => runs(one) && barredAt(one) !== undefined && !one.isDoubting))
      if (stand === undefined) return false
      Object.assign(stand, { isListed: true, licenceEndS: timeAt(stand) + (1 + draw(12)) * HOUR })
      await setPolicy(stand)
      await eventually(() => ask(stand, 'POST', '/v1/tx/arm', { arm: true, profile_id: 'mast' }), WAIT_MS)
      stand.isArmed = true
      await stand.air.isOn()
      return true
    },
  ],
  [
    'disarm',
    1,
    async () => {
      const stand = pick(stands.filter((one) => runs(one) && one.isArmed))
      if (stand === undefined) return false
      await ask(stand, 'POST', '/v1/tx/disarm')
      stand.isArmed = false
      return true
    },
  ],
  [
    'empty list',
    1,
    async () => {
      const stand = pick(stands.filter((one) => runs(one) && one.isListed))
      if (stand === undefined) return false
      stand.isListed = false
      await setPolicy(stand)
      return true
    },
  ],
]
const DRAWN = ACTS.flatMap((act) => Array.from({ length: act[1] }, () => act))

async function change(from: Sim['state'], verb: string, to: Sim['state']): Promise<boolean> {
  const sim = pick(sims.filter(({ home, state }) => runs(home) && state === from))
  if (sim === undefined) return false
  await ask(sim.home, 'POST', `/v1/sims/${sim.hash}/${verb}`, {})
  sim.state = to
  return true
}

function heal(stand: Stand): void {
  cut(stand, false)
  stand.isCut = false
  meet()
}

/** Lets a box into the mesh again that was put out of it. */
async function comeBack(stand: Stand): Promise<boolean> {
  const [root = stand] = stands
  if (![root, stand].every((one) => runs(one) && !one.isCut)) return false
  for (const one of [root, stand]) {
    one.skewS = 0
    await setClock(one)
  }
  // It hears first that it is out.
  await eventually(async () => (await membersAt(stand.box)).length < 2, WAIT_MS)
  await joinMesh(stand.box, root.box)
  stand.isMember = true
  for (const one of stands) one.out.delete(stand)
  await permitAll(stand)
  meet()
  return true
}

async function step(number: number): Promise<void> {
  try {
    await stepped(number)
  } catch (error) {
    const details = error instanceof Error && 'details' in error ? error.details : ''
    const said = [`seed ${seed}, step ${number}: ${error}`, details, ...history.slice(-20), `last: ${last}`]
    throw new Error(said.join('\n'), { cause: error })
  }
}

async function stepped(number: number): Promise<void> {
  aheadS += (20 + draw(41)) * MINUTE
  for (const stand of stands) await setClock(stand, !stand.isDoubting)
  const names: string[] = []
  for (let acts = 1 + draw(3); acts > 0; ) {
    const [name, , act] = DRAWN[draw(DRAWN.length)] ?? ACTS[0] ?? []
    if (name === undefined || act === undefined || !(await act())) continue
    names.push(`${name} ${last}`)
    count(name)
    acts -= 1
  }
  history.push(`${number}, ${(aheadS / HOUR).toFixed(1)} h: ${names.join(', ')}`)
  await holds(`seed ${seed}, step ${number} (${names.join(', ')})`)
}

week.before(async () => {
  const airs: Air[] = []
  for (let number = 1; number <= BOXES; number += 1) {
    const place = join(folder, `air${number}`)
    mkdirSync(place)
    airs.push(await openAir(place))
  }
  all = await village(
    BOXES,
    (number) => ({
      ...METERED,
      SVC_HSS_DRIVER: 'dbctl',
      SVC_HSS_DBCTL_PATH: DBCTL,
      SVC_CORE_A_MME_URL: 'http://127.0.0.2:9090',
      SVC_CORE_A_SMF_URL: 'http://127.0.0.4:9090',
      LAB_CORE_DIR: join(folder, `lab${number}`),
      SVC_ROAMING_LEASE: `${LEASE_S}s`,
      SVC_RAN_BINARY: airs[number - 1]?.binary ?? '',
    }),
    { config: radioConfig("''") },
  )
  for (const [index, air] of airs.entries()) {
    const box = all.boxes[index]
    if (box === undefined) continue
    const labDir = join(folder, `lab${index + 1}`)
    const lab = await startLabCore(labDir, [], box.place.inside)
    const state = {
      isCut: false,
      isMember: true,
      out: new Set<Stand>(),
      skewS: 0,
      believedS: 0,
      peakS: 0,
      isDoubting: false,
    }
    const radio = { isArmed: false, isListed: false, licenceEndS: 0 }
    stands.push({ box, labDir, lab, air, ...state, ...radio, heardS: new Map() })
  }
  for (const { box } of stands.slice(1)) await joinMesh(box, all.root)
  for (const stand of stands) {
    await permitAll(stand)
    for (let number = 0; number < SIMS; number += 1) await issue(stand)
  }
  await untilAllServe('at the begin')
}, LIMIT)

week.after(async () => {
  await all?.end()
  for (const { lab, air } of stands) {
    await lab.kill()
    air.close()
  }
  rmSync(folder, { recursive: true, force: true })
})

async function untilAllServe(said: string): Promise<void> {
  let missing: readonly string[] = []
  await eventually(() => {
    missing = stands.flatMap((stand) => {
      const served = servedAt(stand)
      return sims
        .filter(({ imsi, state }) => state === 'active' && !served.has(imsi))
        .map(({ hash, home }) => `${hash} of ${home.box.name} at ${stand.box.name}`)
    })
    return missing.length === 0
  }, WAIT_MS).catch(() => assert.equal(missing, [], said))
}

week(
  `in ${STEPS} steps of ${BOXES} boxes each ledger is exact, no SIM is served beyond its lease, no box is on the air without its gate`,
  async () => {
    const begunMs = performance.now()
    for (let number = 1; number <= STEPS; number += 1) await step(number)
    const said = `seed ${seed}, at the end`
    for (const stand of stands) {
      stand.skewS = 0
      if (stand.isCut) heal(stand)
      if (runs(stand)) await setClock(stand)
      else await restart(stand)
    }
    for (const stand of stands) if (!stand.isMember) assert.ok(await comeBack(stand))
    await untilAllServe(said)
    await holds(said)
    for (const sim of sims) await exact(sim, said)
    for (const { box } of stands) {
      const verdict = await box.svc('audit', 'verify', '--data-dir', box.dataDir)
      assert.is(verdict.code, 0, `${said}: ${box.name}: ${verdict.stdout}${verdict.stderr}`)
    }
    const moved = sims.reduce((sum, sim) => sum + movedOf(sim), 0)
    const minutes = ((performance.now() - begunMs) / 60_000).toFixed(1)
    process.stdout.write(
      `\n# ${(aheadS / 24 / HOUR).toFixed(1)} days of ${BOXES} boxes in ${minutes} min (seed ${seed}): ${checks} checks, ${moved} octets; ${JSON.stringify(done)}\n`,
    )
  },
  LIMIT,
)

week.run()
