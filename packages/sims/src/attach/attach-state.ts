import {
  type Context,
  type CoreDriver,
  coreDriverRef,
  createPause,
  type ImsiHash,
  type ObservedUe,
  type Reader,
  ranDriverRef,
  untilAborted,
} from '@steeple/contracts'
import { imsiHash, safeText } from '@steeple/telecom'
import type { SimsParts } from '../parts.ts'
import { seenTimes } from '../store/attach-store.ts'
import type { SimRow } from '../store/sim-store.ts'

/** Who is attached, as the core was last seen to say. */
export interface Attached {
  readonly hashes: ReadonlySet<ImsiHash>
  /** When the core said so: ms since the epoch. */
  readonly atMs: number
}

/** The one look at who is attached, which all share. */
export interface AttachedSet {
  /** As last seen; undefined while the core does not tell, which is not nobody. */
  now(): Attached | undefined
  /** The same, asked anew when it is older than a moment. Does not wait long, and not at all for a core in trouble. */
  fresh(): Promise<Attached | undefined>
  /** Asks the core. What was seen before stays valid for a while when it does not tell. */
  look(signal: AbortSignal): Promise<Attached | undefined>
  /** A phone was seen to be off since the last look. */
  left(hash: ImsiHash): void
}

interface TimedAttached extends Attached {
  readonly hashes: Set<ImsiHash>
  readonly monotonicMs: number
}

/** Bound on one look, ms. */
const LOOK_MS = 10_000
/** What is so old is asked for anew, as the node's status does, ms. */
const FRESH_MS = 1_000
/** Who asks waits so long for the core, ms. */
const WAIT_MS = 1_000
/** A core that did not tell for so long leaves nothing known, ms. As the count in the status. */
const STALE_MS = 15_000

/** Nobody was looked for yet. */
export function attachedSet(context: Pick<Context, 'clock' | 'log' | 'maybe' | 'retiring'>): AttachedSet {
  const { clock } = context
  let last: TimedAttached | undefined
  let looking: Promise<Attached | undefined> | undefined
  /** Phones that went since the last look began: its answer may be of before. */
  let gone = new Set<ImsiHash>()
  let isFailing = false

  const now = (): Attached | undefined =>
    last !== undefined && clock.monotonicMs() - last.monotonicMs <= STALE_MS ? last : undefined

  const ask = async (signal: AbortSignal): Promise<Attached | undefined> => {
    gone = new Set()
    const core = context.maybe(coreDriverRef)
    if (core === undefined) {
      last = undefined
      return undefined
    }
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)])
      const [ues, isOff] = await Promise.all([core.ues(limited), isRadioOff(context, core, limited)])
      const hashes = await hashesOf(isOff ? [] : ues)
      for (const hash of gone) hashes.delete(hash)
      last = { hashes, atMs: clock.nowMs(), monotonicMs: clock.monotonicMs() }
      isFailing = false
    } catch (error) {
      if (!isFailing && !signal.aborted)
        context.log.warn({ reason: safeText(error) }, 'core did not say who is attached')
      isFailing = true
    }
    return now()
  }
  const look = (signal: AbortSignal): Promise<Attached | undefined> => {
    looking ??= ask(signal).finally(() => {
      looking = undefined
    })
    return looking
  }
  return {
    now,
    look,
    left: (hash) => {
      last?.hashes.delete(hash)
      gone.add(hash)
    },
    fresh: async () => {
      if (context.maybe(coreDriverRef) === undefined) return undefined
      const ageMs = last === undefined ? Number.POSITIVE_INFINITY : clock.monotonicMs() - last.monotonicMs
      if (ageMs <= FRESH_MS || isFailing) return now()
      await untilAborted(look(context.retiring), AbortSignal.timeout(WAIT_MS)).catch(() => undefined)
      return now()
    },
  }
}

/** Whether no base station is there, since the own one is to be off: a core lists the phones for a while that it had. */
async function isRadioOff(
  context: Pick<Context, 'maybe'>,
  core: CoreDriver,
  signal: AbortSignal,
): Promise<boolean> {
  const own = await context
    .maybe(ranDriverRef)
    ?.observe(signal)
    .catch(() => undefined)
  if (own === undefined || own.mode === 'none' || own.isWanted !== false || own.isConnected) return false
  const { radios, otherNetworks = [] } = await core.observe(signal)
  return radios === 0 && otherNetworks.length === 0
}

async function hashesOf(ues: readonly ObservedUe[]): Promise<Set<ImsiHash>> {
  const hashes = new Set<ImsiHash>()
  const pause = createPause()
  for (const { imsi, isRegistered } of ues) {
    if (isRegistered) hashes.add(imsiHash(imsi))
    await pause()
  }
  return hashes
}

/** What is known of a SIM's phone. */
export interface AttachState {
  /** Null: the core does not tell. */
  readonly attached: boolean | null
  readonly lastSeenAtMs: number | null
}

type SeenRow = Pick<SimRow, 'hash' | 'attached_at_ms'>

/** A SIM that no phone was seen with yet, as far as the core tells. */
export function newAttachState(parts: SimsParts): AttachState {
  return { attached: parts.attachedSet.now() === undefined ? null : false, lastSeenAtMs: null }
}

/** The phones of SIMs by their hashes, as `attached` has them. */
export async function attachStatesOf(
  reader: Reader,
  rows: readonly SeenRow[],
  attached: Attached | undefined,
): Promise<ReadonlyMap<string, AttachState>> {
  const isHere = ({ hash }: SeenRow): boolean => attached?.hashes.has(hash) === true
  // Who never attached was never seen, and who is there is seen now: for the others it is written down.
  const gone = rows.filter((row) => row.attached_at_ms !== null && !isHere(row))
  const times = await seenTimes(
    reader,
    gone.map(({ hash }) => hash),
  )
  return new Map(
    rows.map((row): [string, AttachState] => {
      if (attached !== undefined && isHere(row))
        return [row.hash, { attached: true, lastSeenAtMs: attached.atMs }]
      const lastSeenAtMs = times.get(row.hash) ?? row.attached_at_ms
      return [row.hash, { attached: attached === undefined ? null : false, lastSeenAtMs }]
    }),
  )
}

/** The phone of one SIM, as `attached` has it. */
export async function attachStateOf(
  reader: Reader,
  row: SeenRow,
  attached: Attached | undefined,
): Promise<AttachState> {
  return (await attachStatesOf(reader, [row], attached)).get(row.hash) ?? NEVER_SEEN
}

const NEVER_SEEN: AttachState = { attached: null, lastSeenAtMs: null }
