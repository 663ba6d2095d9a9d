import {
  type BatchResult,
  type Clock,
  type HssDriver,
  type Imsi,
  isServiceError,
  notFound,
  type Technology,
  untilAborted,
} from '@steeple/contracts'
import { type CoreInfo, pause, type UeList, type Walked } from '@steeple/southbound'

/** Has the HSS cancel the location of a phone. False: nobody can, or the HSS does not hold it. Throws what the HSS driver throws. */
type CancelLocation = (imsi: Imsi, signal: AbortSignal) => Promise<boolean>

/** Requests within this time are one call, ms. */
const TOGETHER_MS = 20

/**
 * Collects requests of one moment into one call of the HSS driver: a hundred kicks at once are one write. What comes
 * while a call is out goes into the next, however long that takes.
 *
 * The call has the plugin's own signal; who stops waiting does not end it for the others.
 */
export function batchCancel(hss: () => HssDriver | undefined, retiring: AbortSignal): CancelLocation {
  let waiting: { readonly imsis: Set<Imsi>; readonly result: Promise<BatchResult> } | undefined
  let out: Promise<unknown> = Promise.resolve()
  const collect = (cancel: NonNullable<HssDriver['cancelLocation']>): typeof waiting & object => {
    const imsis = new Set<Imsi>()
    const result = Promise.all([pause(TOGETHER_MS, retiring), out]).then(() => {
      waiting = undefined
      return cancel([...imsis], retiring)
    })
    out = result.catch(() => undefined)
    return { imsis, result }
  }
  return async (imsi, signal) => {
    signal.throwIfAborted()
    const driver = hss()
    const cancel = driver?.cancelLocation
    if (cancel === undefined) return false
    waiting ??= collect(cancel)
    waiting.imsis.add(imsi)
    const problem = (await untilAborted(waiting.result, signal)).get(imsi)
    if (isServiceError(problem) && problem.code === notFound.code) return false
    if (problem !== undefined) throw problem
    return true
  }
}

interface KickParts {
  readonly clock: Clock
  readonly info: CoreInfo
  readonly cancelLocation: CancelLocation
  /** Tells the AMF; `unknown` when it has no such phone. */
  readonly deregister: (imsi: Imsi, signal: AbortSignal) => Promise<'accepted' | 'unknown'>
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
  /** Told whether a cancel that the HSS was asked for has shown within the time of its kick. */
  readonly cancelShown?: (hasShown: boolean, signal: AbortSignal) => Promise<void>
  readonly limits?: Partial<KickLimits>
}

/** Bounds of a kick, ms. */
export interface KickLimits {
  /** How long it looks whether the phone is gone. */
  readonly overallMs: number
  /** How long a block in the HSS, just before, gets to do it by itself. */
  readonly graceMs: number
  readonly pollMs: number
}

type Kicked = 'yes' | 'pending' | 'not_attached'

const LIMITS: KickLimits = { overallMs: 3_000, graceMs: 400, pollMs: 100 }
const PAUSE_GROWTH = 1.3
/** A phone that was seen on so long before, ms, and is off now, was cut by the block that came with this kick. */
const JUST_NOW_MS = 5_000

/**
 * Disconnects a phone and looks whether it is off.
 *
 * LTE: the HSS, whose driver has blocked the subscriber before, cancels the location; it is asked again when that does
 * not show within a moment. NR: the AMF is told. Then the lists of MME, AMF and SMF say whether the phone is gone; all
 * kicks of a moment share each walk. Throws `southbound_unavailable` when
 * the daemon cannot be asked that has the phone, or could have it.
 */
export function kicker(parts: KickParts): (imsi: Imsi, signal: AbortSignal) => Promise<Kicked> {
  const limits = { ...LIMITS, ...parts.limits }
  const { clock, info } = parts
  return async (imsi, signal) => {
    signal.throwIfAborted()
    const beganMs = clock.monotonicMs()
    const before = info.ues.last(JUST_NOW_MS)
    const seen = await info.ues.since(beganMs, signal)
    if (isOn(seen, imsi)) {
      const isOff = await cutAndWatch(parts, limits, { imsi, beganMs, seen }, signal)
      return isOff ? 'yes' : 'pending'
    }
    refuseBlind(seen.value)
    const wasOn = before !== undefined && isOn(before, imsi)
    return wasOn || isBeingCut(seen, imsi) ? 'yes' : 'not_attached'
  }
}

interface Case {
  readonly imsi: Imsi
  readonly beganMs: number
  readonly seen: Walked<UeList>
}

/** Cuts it and looks until it is off; false when that takes longer than allowed. */
async function cutAndWatch(
  parts: KickParts,
  limits: KickLimits,
  { imsi, beganMs, seen: first }: Case,
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, info } = parts
  const done: Cuts = new Set()
  const cut = cutter(parts, limits, beganMs, done)
  let seen = first
  let restMs = limits.pollMs
  while (isOn(seen, imsi) || (await hasSession(info, imsi, seen.beganMs, signal))) {
    if (isOn(seen, imsi)) await cut(imsi, seen, signal)
    restMs = pauseAfter(seen, restMs)
    if (clock.monotonicMs() + restMs >= beganMs + limits.overallMs) {
      if (done.has('lte')) await parts.cancelShown?.(!isOn(seen, imsi), signal)
      return false
    }
    await parts.pause(restMs, signal)
    seen = await info.ues.since(clock.monotonicMs(), signal)
    refuseBlind(seen.value, technologyOf(first, imsi))
  }
  if (done.has('lte')) await parts.cancelShown?.(true, signal)
  return true
}

/** The technologies in which a phone was cut. */
type Cuts = Set<Technology>

/** Does once what cuts a phone: at once in NR, in LTE when the block alone did not. */
function cutter(
  parts: KickParts,
  { graceMs }: KickLimits,
  beganMs: number,
  done: Cuts,
): (imsi: Imsi, seen: Walked<UeList>, signal: AbortSignal) => Promise<void> {
  return async (imsi, { value }, signal) => {
    const technology = value.ues.get(imsi)?.technology
    if (technology === undefined || done.has(technology)) return
    if (technology === 'nr') await parts.deregister(imsi, signal)
    else if (parts.clock.monotonicMs() - beganMs < graceMs) return
    else if (!(await parts.cancelLocation(imsi, signal))) return
    done.add(technology)
  }
}

/** Of a phone that is not on where one can look, nothing is known while the other list cannot be had; likewise of one whose own cannot. */
function refuseBlind({ problems }: UeList, own?: Technology): void {
  for (const [technology, problem] of problems) if (own === undefined || own === technology) throw problem
}

function technologyOf({ value }: Walked<UeList>, imsi: Imsi): Technology | undefined {
  return value.ues.get(imsi)?.technology
}

function isOn({ value }: Walked<UeList>, imsi: Imsi): boolean {
  return value.ues.get(imsi)?.isRegistered === true
}

/** Registered without a connection, in LTE: cancelled, and the phone has not answered yet. */
function isBeingCut({ value }: Walked<UeList>, imsi: Imsi): boolean {
  return value.ues.get(imsi)?.isCut === true
}

/** Whether the SMF still has a session. One that cannot be asked is no reason to doubt MME and AMF. */
async function hasSession(
  info: CoreInfo,
  imsi: Imsi,
  sinceMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await info.sessions.since(sinceMs, signal)).value.has(imsi)
  } catch {
    signal.throwIfAborted()
    return false
  }
}

/** Ever less often, and least a list that takes long to walk: each page is work for the daemon that serves phones. */
function pauseAfter({ beganMs, endedMs }: Walked<UeList>, lastMs: number): number {
  return Math.max(Math.ceil(lastMs * PAUSE_GROWTH), 2 * (endedMs - beganMs))
}
