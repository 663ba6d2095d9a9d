import { createHash } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import {
  type Collector,
  type Context,
  collectionConsumerRef,
  collectorRef,
  NOTHING_COLLECTED,
  type Plugin,
  type Settings,
  southboundUnavailable,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import { type ChildTap, createChildTap } from './child/child-tap.ts'
import { BUFFER_BYTES } from './child/order.ts'
import { tapCollector, tapMetrics } from './collector.ts'
import { checkTap } from './doctor.ts'
import { interfacePackets } from './interface-packets.ts'
import { insidePlace } from './nft/inside.ts'
import { NftTap } from './nft/nft-tap.ts'
import { nftRun } from './nft/run-nft.ts'
import type { UpfTap } from './upf-tap.ts'

/** Where Linux has a tmpfs: what is written there each 100 ms reaches no disk, and goes when the machine restarts. */
const PLACES = ['/run', '/dev/shm'] as const
const ONLY_OWNER = 0o700
const FORBIDDEN = 0o077
const PREFIX = 'steeple_gtpu_'
/** Says whose folder it is. */
const OWNER_FILE = 'data-dir'
/** The data directory of a service may be on a disk that is away for a while. */
const ABANDONED_MS = 86_400_000

/** A name that two services of one machine do not share. */
export function ownName(dataDir: string): string {
  return `${PREFIX}${createHash('sha256').update(dataDir).digest('hex').slice(0, 8)}`
}

/** A folder on a tmpfs that nobody else can enter; the same one for the same service and driver. */
export function counterFolder(dataDir: string, driver: string, places: readonly string[] = PLACES): string {
  const problems: string[] = []
  for (const place of places) {
    const folder = `${place}/${ownName(dataDir)}_${driver}`
    try {
      mkdirSync(folder, { recursive: true, mode: ONLY_OWNER })
      // In a place that everybody may write to somebody else may have made it.
      if (isOwn(folder)) {
        writeFileSync(`${folder}/${OWNER_FILE}`, dataDir, { mode: 0o600 })
        return folder
      }
      problems.push(`${folder} belongs to somebody else`)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  throw southboundUnavailable(
    `there is no place in memory for the counters of the tap: ${problems.join('; ')}`,
  )
}

/** Removes folders of services whose data directory is gone, and into which nobody has written for a day; says how many. */
export function sweepCounterFolders(nowMs: number, places: readonly string[] = PLACES): number {
  const folders = places.flatMap((place) => namesIn(place).map((name) => `${place}/${name}`))
  return folders.filter((folder) => isAbandoned(folder, nowMs) && isRemoved(folder)).length
}

function namesIn(place: string): readonly string[] {
  try {
    return readdirSync(place).filter((name) => name.startsWith(PREFIX))
  } catch {
    return []
  }
}

function isAbandoned(folder: string, nowMs: number): boolean {
  try {
    if (!isOwn(folder)) return false
    const files = readdirSync(folder)
    const writtenMs = Math.max(...files.map((file) => lstatSync(`${folder}/${file}`).mtimeMs))
    if (nowMs - writtenMs < ABANDONED_MS) return false
    // One without is of a version that did not say whose it is.
    return files.includes(OWNER_FILE) && !existsSync(readFileSync(`${folder}/${OWNER_FILE}`, 'utf8'))
  } catch {
    return false
  }
}

function isRemoved(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true })
    return true
  } catch {
    return false
  }
}

function isOwn(folder: string): boolean {
  const stat = lstatSync(folder)
  return stat.isDirectory() && stat.uid === process.geteuid?.() && (stat.mode & FORBIDDEN) === 0
}

/** What a hand-over may take; a copy that leaves is given five seconds. */
const HAND_OVER_BOUND_MS = 4_000
/** Readings that may have to be counted first: one that had ended, and the present one. */
const MOST_READINGS = 3

/**
 * Ends a tap for good: what it has counted is handed over once more, then everything of it goes. What could not be handed
 * over stays where it is and is counted when the tap is there again.
 */
async function endTap(tap: UpfTap, collector: Collector, context: Context): Promise<void> {
  let isCounted = false
  try {
    isCounted = await handOver(collector, context)
  } catch (error) {
    context.log.warn(
      { reason: safeText(error) },
      'what the tap has counted could not be handed over; it stays',
    )
  }
  await tap.close(!isCounted)
}

async function handOver({ source, poll }: Collector, context: Context): Promise<boolean> {
  const consumer = context.maybe(collectionConsumerRef)
  // Who keeps usage may be away for a while.
  if (consumer === undefined) return false
  const bound = AbortSignal.timeout(HAND_OVER_BOUND_MS)
  for (let i = 0; i < MOST_READINGS; i += 1) {
    const collection = await poll(await consumer.position(source), bound)
    await consumer.take(new Map([[source, collection]]), bound)
    // After a final reading there is another.
    if (collection.position?.includes('"isFinal":true') !== true) return true
  }
  return false
}

/**
 * Who of a core ends tunnels of GTP-U, and at which address where the configuration names none: those of the stock
 * configurations of Open5GS and free5GC. The SMF of Open5GS answers router solicitations through the UPF.
 */
const ENDS: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  core_a: { upf: '127.0.0.7', sgwu: '127.0.0.6', smf: '127.0.0.4', s1u: undefined, n3: undefined },
  core_b: { upf: '127.0.0.8', n3: undefined },
}

/** The addresses at which the core takes GTP-U: the configured ones, else those of the chosen core. */
async function coreAddresses(
  { core, core_a: coreA, core_b: coreB }: Pick<Settings, 'core' | 'core_a' | 'core_b'>,
  configured: readonly string[],
): Promise<readonly string[]> {
  if (configured.length > 0) return configured
  const named = core === 'core_b' ? coreB.addresses : coreA.addresses
  const hosts = Object.entries(ENDS[core] ?? {}).map(([role, stock]) => named[role] ?? stock)
  const found = await Promise.all(hosts.map((host) => (host === undefined ? [] : addressesOf(host))))
  return [...new Set(found.flat())]
}

/** Of a name all that it stands for; a name that does not resolve is no address. */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch {
    return []
  }
}

/** `collector.upf`. */
interface TapConfig {
  readonly enabled: boolean
  readonly iface: string
  readonly driver: 'nft' | 'pcap' | 'file'
  readonly inside_iface: readonly string[]
  readonly file: string
  readonly core_addresses: readonly string[]
}

/** What beginning to count may take. */
const START_BOUND_MS = 5_000
/** How often a child is looked after. */
const TICK_MS = 1_000

/** Counts what phones move on GTP-U. */
export const plugin: Plugin<TapConfig> = {
  doctor: ({ settings }) => checkTap(settings.collector),
  setup: async (context) => {
    const { enabled } = context.config
    const tap = enabled ? await openTap(context) : undefined
    const collector = tap === undefined ? idle() : watched(tap, context)
    return {
      services: new Map([[collectorRef(context.plugin.id).id, collector]]),
      start: async () => {
        await sweep(context)
        sweepCounterFolders(context.clock.nowMs())
        // It counts from now on, and not from the first poll; what is in its way the poll says.
        await tap?.snapshot(undefined, AbortSignal.timeout(START_BOUND_MS)).catch(() => undefined)
      },
      stop: async (why) => {
        if (tap === undefined) return
        const { enabled: isWanted, driver } = tapSettings(context)
        const isOver = why === 'unload' || (why === 'shutdown' && isLabTap(context.settings))
        const isLast = isOver || !isWanted || driver !== context.config.driver
        // A capture is read again from its beginning, and counts on under its own name.
        const isKept = why !== 'shutdown' || driver !== 'file'
        await (isLast ? endTap(tap, collector, context) : tap.close(isKept))
      },
    }
  },
}

/**
 * Whether it counts on the tunnels of the lab core of `svc lab`, which alone says so. A box counts on while its service restarts; a
 * lab leaves nothing in the kernel of the machine that it was tried on.
 */
function isLabTap({ server }: Settings): boolean {
  return server.mode === 'lab' && process.env.STEEPLE_LAB_TAP === 'true'
}

/** The keys as they stand now, which may be those of the next copy. */
function tapSettings({ settings }: Context): Pick<TapConfig, 'enabled' | 'driver'> {
  // The schema of this package says what is there; the type of the whole configuration knows the first key alone.
  return settings.collector.upf as TapConfig
}

/** Takes away the rules that a service left which was ended without a word, and which are not wanted any more. */
async function sweep(context: Context<TapConfig>): Promise<void> {
  const { enabled, driver } = context.config
  if (enabled && driver === 'nft') return
  const tap = nftTap(context, [])
  if (await tap.isThere()) await endTap(tap, tapCollector(tap, context.clock), context)
}

async function openTap(context: Context<TapConfig>): Promise<UpfTap> {
  const { config, settings, clock, log } = context
  const { driver, iface, file: capture } = config
  const core = await coreAddresses(settings, config.core_addresses)
  if (core.length === 0)
    throw southboundUnavailable(
      `no address is known at which the core takes GTP-U (core is ${settings.core}); set collector.upf.core_addresses`,
    )
  if (driver === 'nft') return nftTap(context, core)
  const tap: ChildTap = createChildTap({
    order: { driver, iface, core, bufferBytes: BUFFER_BYTES },
    folder: counterFolder(settings.server.data_dir, driver),
    capture,
    clock,
    log,
  })
  context.every(TICK_MS, async () => tap.tick(), 'each')
  return tap
}

function nftTap({ config, settings, clock }: Context<TapConfig>, core: readonly string[]): NftTap {
  const { iface } = config
  const place = {
    table: ownName(settings.server.data_dir),
    iface,
    v4: core.filter((address) => !address.includes(':')),
    v6: core.filter((address) => address.includes(':')),
  }
  const inside = insidePlace(config.inside_iface)
  return new NftTap({ place, inside, clock, run: nftRun(), carried: () => interfacePackets(iface) })
}

/** Its collector, whose readings are counted. */
function watched(tap: UpfTap, context: Context): Collector {
  const metrics = tapMetrics(context)
  return tapCollector(tap, context.clock, (snapshot) => metrics.seen(snapshot, tap.stats()))
}

/** What gives nothing: `collector.upf.enabled` is false. */
function idle(): Collector {
  return {
    source: 'gtpu',
    poll: async () => NOTHING_COLLECTED,
    health: () => ({ status: 'ok', detail: 'counting is off: collector.upf.enabled is false' }),
  }
}
