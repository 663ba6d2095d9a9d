import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import { type Clock, type Log, southboundUnavailable } from '@steeple/contracts'
import { type CounterReading, readCounters, readWrites } from '../counters/counter-file.ts'
import { countersFrom } from '../counters/tally.ts'
import { listed } from '../listed.ts'
import {
  NO_PACKETS,
  type TapCounter,
  type TapSnapshot,
  type TapState,
  type TapStats,
  type UpfTap,
} from '../upf-tap.ts'
import type { TapOrder } from './order.ts'
import { createTapChild, type TapChild } from './tap-child.ts'

/** What a tap by a child needs. */
export interface ChildTapOptions {
  readonly order: TapOrder
  /** Folder on a tmpfs for the counters; only the service can enter it. */
  readonly folder: string
  /** Capture of the driver `file`. */
  readonly capture: string
  readonly clock: Clock
  readonly log: Log
  /** The child's program; that of this build, or of the sources, when absent. */
  readonly program?: string
}

/** A tap that must be looked after. */
export interface ChildTap extends UpfTap {
  /** Called about every second. */
  tick(): void
  readonly pid: number | undefined
  /** The present child has begun to count, as of the last tick. */
  readonly isWorking: boolean
}

/** A child that has written nothing for so long, since it was read, is not counting. */
const SILENT_MS = 5_000

/**
 * Reads what a child counts from the files that it writes, so that a child which hangs or has died can be read too. The
 * next child, of this service or of the next, goes on with its counters.
 */
export function createChildTap(options: ChildTapOptions): ChildTap {
  const { order, folder, capture, clock, log } = options
  const names = [`${folder}/counters-0`, `${folder}/counters-1`] as const
  const open = (name: string): number =>
    openSync(name, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  const counters = [open(names[0]), open(names[1])] as const
  const reading = (): CounterReading | undefined => readCounters(counters)
  // Of a capture whatever is in it counts, whoever has read it before.
  const older = order.driver === 'pcap' ? reading()?.generation : undefined
  const child: TapChild = createTapChild({
    order,
    right: order.driver === 'pcap' ? 'net_raw' : undefined,
    files: counters,
    input: order.driver === 'file' ? capture : undefined,
    beat: () => readWrites(counters),
    clock,
    log,
    ...(options.program === undefined ? {} : { program: options.program }),
  })
  child.tick()
  let stats: TapStats = NO_PACKETS
  let given: number | undefined
  let givenMs = 0
  /** What a child that is away has counted is given once; after that nothing is known until one is back. */
  const give = (writes: number, { status, detail }: TapState): void => {
    const nowMs = clock.monotonicMs()
    if (writes !== given) {
      given = writes
      givenMs = nowMs
    } else if (status === 'down') throw southboundUnavailable(`the tap process is away: ${detail}`)
    else if (order.driver === 'pcap' && nowMs - givenMs > SILENT_MS)
      throw southboundUnavailable('the tap process gives no sign of life')
  }
  return {
    get pid() {
      return child.pid
    },
    get isWorking() {
      return child.isWorking
    },
    tick: () => child.tick(),
    snapshot: async () => {
      if (order.driver === 'file' && !existsSync(capture))
        throw southboundUnavailable('the capture of collector.upf.file is not there any more')
      const state = child.state()
      const found = reading()
      // What the service before has left is given with what the child that goes on with it says; of a capture nothing is known
      // before all of it is read: less than before would be taken for another counter.
      const isBeginning = given === undefined && !child.isWorking && state.status === 'ok'
      if (found === undefined || !found.header.isAtEnd || isBeginning)
        throw southboundUnavailable(state.status === 'ok' ? 'the tap has just begun to read' : state.detail)
      give(found.header.writes, state)
      stats = statsOf(found)
      return await snapshotOf(found, order, found.generation === older, clock.nowMs())
    },
    stats: () => stats,
    state: () => stateOf(child.state(), order),
    close: async (keep) => {
      await child.end()
      for (const file of counters) closeSync(file)
      if (!keep) rmSync(folder, { recursive: true, force: true })
    },
  }
}

function statsOf({ header }: CounterReading): TapStats {
  const { received, dropped, malformed, unmatched, foreign, refused, refusedBytes, missed } = header
  return { received, dropped, malformed, unmatched, foreign, refused, refusedBytes, missed }
}

async function snapshotOf(
  { generation, header, rows }: CounterReading,
  { driver }: TapOrder,
  isOlder: boolean,
  nowMs: number,
): Promise<TapSnapshot> {
  const isLive = driver === 'pcap'
  const { sinceMs, writtenMs } = header
  return {
    generation,
    isOlder,
    // Of the machine's clock, which the service may not believe, how long it has counted is all that is taken.
    sinceMs: isLive ? nowMs - Math.max(0, writtenMs - sinceMs) : sinceMs,
    atMs: nowMs,
    counters: await listed(isLive ? withoutTimes(countersFrom(rows)) : countersFrom(rows)),
    isFinal: false,
    lost: header.dropped + header.unmatched + header.missed,
    began: 0,
    carried: 0,
  }
}

/** The kernel stamps packets by the machine's clock, too; those of a capture are what is known of it. */
function* withoutTimes(counters: Iterable<TapCounter>): Iterable<TapCounter> {
  for (const { address, upBytes, downBytes } of counters) yield { address, upBytes, downBytes }
}

function stateOf(state: TapState, { driver, iface }: TapOrder): TapState {
  return state.status === 'ok'
    ? { status: 'ok', detail: driver === 'file' ? 'the capture is read' : `looks at ${iface}` }
    : state
}
