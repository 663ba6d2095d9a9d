import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, rounds, suite } from '@steeple/testkit'
import { ROOT } from '../harness/launch.ts'
import {
  type Card,
  type MeteredLab,
  measuredIn,
  type Octets,
  startMeteredLab,
} from '../harness/metered-lab.ts'

type Write = (
  session: string,
  report: { readonly ratingGroup: number; readonly upBytes: number; readonly downBytes: number },
) => boolean

/** As far as it is used; the collector's own tests have it. */
interface ModelChf {
  create(imsi: string): string
  readonly update: Write
  readonly partial: Write
  readonly release: Write
}

const MODEL = new URL('../../packages/collector-cdr/test/support/model-chf.ts', import.meta.url).href

interface ChargingFiles {
  /** Ends it, with a last report for each subscriber, so that every file shows all of its records. */
  stop(): void
  /** What it has reported of a subscriber. */
  reported(imsi: string): Octets
}

const REPORT_MS = 20
const MOST_OCTETS = 5_000_000

/** Reports of subscribers at random, each in one of its sessions, some of which end and are followed by others. */
async function growChargingFiles(dir: string, imsis: readonly string[]): Promise<ChargingFiles> {
  const { modelChf } = (await import(MODEL)) as {
    readonly modelChf: (dir: string, nowMs: () => number) => ModelChf
  }
  const chf = modelChf(dir, Date.now)
  const sessions = new Map<string, string[]>()
  for (const imsi of imsis) sessions.set(imsi, [chf.create(imsi), chf.create(imsi)])
  const sums = new Map<string, Octets>()
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)]
  const report = (imsi: string, how: 'update' | 'partial' | 'release'): void => {
    const own = sessions.get(imsi) ?? []
    const session = pick(own)
    if (session === undefined) return
    const upBytes = Math.floor(Math.random() * MOST_OCTETS)
    const downBytes = Math.floor(Math.random() * MOST_OCTETS)
    chf[how](session, { ratingGroup: 1, upBytes, downBytes })
    const { up, down } = sums.get(imsi) ?? { up: 0, down: 0 }
    sums.set(imsi, { up: up + upBytes, down: down + downBytes })
    if (how === 'release') own.splice(own.indexOf(session), 1, chf.create(imsi))
  }
  const timer = setInterval(() => {
    const imsi = pick(imsis)
    if (imsi !== undefined)
      report(imsi, pick(['update', 'update', 'update', 'partial', 'release']) ?? 'update')
  }, REPORT_MS)
  return {
    stop: () => {
      clearInterval(timer)
      for (const imsi of imsis) report(imsi, 'update')
    },
    reported: (imsi) => sums.get(imsi) ?? { up: 0, down: 0 },
  }
}

/** Octets of inner packets by the address of the phone (IPv4, or the first half of an IPv6 one). */
interface Witnessed {
  readonly up: ReadonlyMap<string, number>
  readonly down: ReadonlyMap<string, number>
}

const TABLE = 'netdev witness'
/** Octets of a frame on the loopback interface before the inner packet: IPv4, UDP, GTP-U. */
const BEFORE = 20 + 8 + 8
const PREFIX_MASK = `0x${'f'.repeat(16)}${'0'.repeat(16)}`

/**
 * Counts of the kernel that nobody under test knows of: G-PDUs with the header of S1-U on `lo` to and from the SGW-U, as
 * they are sent, whoever is killed meanwhile. In a network namespace of the test's own.
 */
function startWitness(core: string): { read(): Witnessed } {
  const sets = ['up4', 'up6', 'down4', 'down6']
  const rules = (['up', 'down'] as const).flatMap((way) => {
    const [end, v4, v6] = way === 'up' ? ['daddr', 128 + 96, 128 + 64] : ['saddr', 128 + 128, 128 + 192]
    const gpdu = `ip ${end} ${core} udp dport 2152 @th,64,16 0x30ff`
    return [
      `${gpdu} @th,128,4 4 update @${way}4 { @th,${v4},32 }`,
      `${gpdu} @th,128,4 6 update @${way}6 { @th,${v6},128 & ${PREFIX_MASK} }`,
    ]
  })
  nft(
    [
      `add table ${TABLE}`,
      ...sets.map((set) => {
        const type = set.endsWith('4') ? 'ipv4_addr' : 'ipv6_addr'
        return `add set ${TABLE} ${set} { type ${type}; size 65535; flags dynamic; counter; }`
      }),
      `add chain ${TABLE} lo { type filter hook ingress device "lo" priority -100; policy accept; }`,
      ...rules.map((rule) => `add rule ${TABLE} lo ${rule}`),
    ].join('\n'),
  )
  const sum = (way: 'up' | 'down'): ReadonlyMap<string, number> =>
    new Map([...elementsOf(`${way}4`), ...elementsOf(`${way}6`)])
  return { read: () => ({ up: sum('up'), down: sum('down') }) }
}

interface Element {
  readonly elem: {
    readonly val: string
    readonly counter: { readonly packets: number; readonly bytes: number }
  }
}

function elementsOf(set: string): readonly (readonly [string, number])[] {
  const listing = JSON.parse(nft('', '-j', 'list', 'set', ...TABLE.split(' '), set)) as {
    readonly nftables: readonly { readonly set?: { readonly elem?: readonly Element[] } }[]
  }
  const elements = listing.nftables.flatMap((one) => one.set?.elem ?? [])
  return elements.map(({ elem: { val, counter } }) => [val, counter.bytes - counter.packets * BEFORE])
}

function nft(input: string, ...args: readonly string[]): string {
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
  const all = args.length === 0 ? ['-f', '-'] : args
  return execFileSync('nft', all, { input, env, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}

enterOwnNetwork(import.meta.filename)

/*
 * Once: whatever is killed, and whenever, each octet counts once: of phones that move data, and of others whose charging files
 * grow meanwhile. The truth of the first is in counters of the kernel that the product does not know of.
 */
const kill = suite('e2e/usage kill')
const ROUNDS = rounds(20)
const PHONES = 1_000
/** SIMs that no phone has: what counts of them is what a CHF has written. */
const CHARGED = 200
const PATIENCE_MS = 300_000
/** Octets of an address whose session nobody has seen yet wait so long for it (`sessions.unattributed_after`), and some looks more. */
const SETTLED_MS = 330_000
/** Something runs so long at most before something is killed. */
const MOST_RUN_MS = 2_500
const UP_KBPS = 8
const DOWN_KBPS = 60

const folder = mkdtempSync(join(tmpdir(), 'steeple-usage-kill-'))
let world: MeteredLab

kill.after(async () => {
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

kill(
  `counts each octet of ${PHONES} phones, and of ${CHARGED} charging files, once in ${ROUNDS} rounds of kill -9`,
  async () => {
    const witness = startWitness('127.0.0.6')
    const records = join(folder, 'cdr')
    mkdirSync(records)
    // The lists of the lab core are read where the configuration says; charging records are those of a free5GC.
    const env = { SVC_CORE: 'core_b', SVC_CORE_B_CDR_DIR: records }
    world = await startMeteredLab(folder, { env })
    const cards = await world.issue(PHONES)
    const charged = await world.issue(CHARGED)
    // Whoever has an address keeps it: what the kernel counted of it is of one phone.
    fixAddresses(cards)
    await world.insert(cards)
    await startTraffic()
    const charging = await growChargingFiles(
      records,
      charged.map(({ imsi }) => imsi),
    )
    const killed = { service: 0, 'its children': 0, 'lab core': 0 }
    for (let round = 0; round < ROUNDS; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * MOST_RUN_MS))
      const chance = Math.random()
      if (chance < 0.6) {
        await world.restartService()
        killed.service += 1
      } else if (chance < 0.8) killed['its children'] += killChildren(world.service.child.pid ?? 0)
      else {
        await seen()
        await world.restartLab()
        killed['lab core'] += 1
        await startTraffic()
      }
    }
    await world.phone('all', 'traffic')
    charging.stop()
    const truth = await atRest(witness.read)
    await judge(charged, ({ imsi }) => charging.reported(imsi))
    const inFiles = charged.reduce((sum, { imsi }) => sum + charging.reported(imsi).up, 0)
    await judge(cards, (card) => sumOf(truth, addressesOf(cards.indexOf(card))))
    const total = [...truth.up.values(), ...truth.down.values()].reduce((sum, octets) => sum + octets, 0)
    process.stdout.write(
      `\n# ${(total / 1e6).toFixed(1)} MB of ${PHONES} phones and ${(inFiles / 1e6).toFixed(1)} MB of charging files counted once; killed: ${JSON.stringify(killed)}\n`,
    )
    assert.ok(total > ROUNDS * 100_000, `${total} octets in all: too few to say anything`)
  },
  { limitMs: 600_000 + ROUNDS * 20_000 },
)

/** Of each SIM the ledger comes to say what is true. */
async function judge(cards: readonly Card[], truthOf: (card: Card) => Octets): Promise<void> {
  for (const card of cards) {
    const truth = truthOf(card)
    let used: Octets | undefined
    await eventually(async () => {
      used = await world.used(card.hash)
      return used.up === truth.up && used.down === truth.down
    }, SETTLED_MS).catch(() =>
      assert.equal(used, truth, `${card.hash}; what the service says of losses: ${lost()}`),
    )
  }
}

function lost(): string {
  return (
    world.service
      .output()
      .match(/[^\n]*(?:lost|unattributed|contradicts)[^\n]*/g)
      ?.join('\n') ?? 'nothing'
  )
}

/** Nobody can say who held an address in a core that is gone before anybody has asked it: it goes once it has been asked. */
async function seen(): Promise<void> {
  await eventually(
    async () => (await world.phones()).every(({ state }) => state === 'connected'),
    PATIENCE_MS,
  )
  // A round may be under way that has asked before: the second one has not.
  for (const _ of [1, 2]) {
    const { counted: before } = await measured()
    await eventually(async () => {
      const { counted, held, sessions } = await measured()
      return counted > before && held === 0 && sessions === PHONES
    }, PATIENCE_MS)
  }
}

async function measured(): Promise<ReturnType<typeof measuredIn>> {
  return measuredIn(String((await world.service.request('GET', '/metrics')).body))
}

async function startTraffic(): Promise<void> {
  await world.phone('all', 'traffic', { up_kbps: UP_KBPS, down_kbps: DOWN_KBPS })
}

/** What the kernel has counted, once it counts no more. */
async function atRest(read: () => Witnessed): Promise<Witnessed> {
  let before = ''
  let now = read()
  await eventually(async () => {
    before = JSON.stringify([...now.up, ...now.down])
    await new Promise((resolve) => setTimeout(resolve, 500))
    now = read()
    return JSON.stringify([...now.up, ...now.down]) === before
  }, PATIENCE_MS)
  return now
}

function addressesOf(index: number): readonly [string, string] {
  const host = index + 2
  return [`10.46.${host >> 8}.${host & 0xff}`, `2001:db8:beef:${host.toString(16)}::`]
}

function sumOf({ up, down }: Witnessed, addresses: readonly string[]): Octets {
  const of = (counted: ReadonlyMap<string, number>): number =>
    addresses.reduce((sum, address) => sum + (counted.get(address) ?? 0), 0)
  return { up: of(up), down: of(down) }
}

function fixAddresses(cards: readonly Card[]): void {
  const lines = cards.flatMap(({ imsi }, index) => {
    const [ipv4, ipv6] = addressesOf(index)
    return [JSON.stringify(['static_ip', imsi, ipv4]), JSON.stringify(['static_ip6', imsi, `${ipv6}2`])]
  })
  const tool = join(ROOT, 'lab/lab-core/dist/open5gs-dbctl.js')
  const env = { ...process.env, ...world.lab.env }
  execFileSync(process.execPath, [tool, 'batch'], { env, input: `${lines.join('\n')}\n` })
}

/** Ends what the service has started at this moment; how many. */
function killChildren(parent: number): number {
  const children = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === parent)
  for (const pid of children)
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // has just ended by itself
    }
  return children.length
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')[1],
    )
  } catch {
    return undefined
  }
}

kill.run()
