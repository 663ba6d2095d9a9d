import type { Clock } from '@steeple/contracts'

/** How far the machine's clock may be from what it should say, forwards or back, ms. Contract section 13. */
export const TOLERANCE_MS = 60_000
/** How far ahead it may be at a start after a reboot: nobody knows how long the machine was off. */
export const START_TOLERANCE_MS = 3_600_000

/**
 * So much of what the machine's clock differs by within the tolerance is forgiven in each ms that passes: a minute in a day. Many small
 * steps, none of them beyond the tolerance, then neither stop the service's time nor let it run.
 */
const FORGIVEN = TOLERANCE_MS / 86_400_000

/** What the machine's clock should say, and how far it may be ahead of that. */
interface Expectation {
  readonly expectedMs: number
  readonly aheadMs: number
  /** What the expectation comes from, for people: `the last commit`. */
  readonly from: string
}

/** Why the machine's clock is not believed: what it says, and what it should say by what. */
export interface Doubt {
  readonly wallMs: number
  readonly expectedMs: number
  readonly from: string
}

/** A change of the service's time that was believed, other than by its passing. */
interface ClockStep {
  readonly atMs: number
  readonly byMs: number
}

/**
 * The service's time: the machine's clock as long as that is plausible. When it leaps, the service's time goes on from
 * the last plausible moment at the pace of the monotonic clock, so that no age, no window and no life is measured by a
 * leap. It never goes back unless `believe` says so. All of its times are whole milliseconds.
 */
export interface JudgedClock extends Clock {
  /** Why the machine's clock is not believed now; undefined while it is. */
  doubt(): string | undefined
  /** The same in figures. */
  doubtful(): Doubt | undefined
  /** What the machine's clock says, believed or not. */
  wallMs(): number
  /** The service's time of `ms` ago, as it was called then: a step forwards since is taken out. */
  agoMs(ms: number): number
  /** Measures the machine's clock against something else than its own past: at a start. */
  expect(expectation: Expectation): void
  /** The machine slept: its clock went on while the monotonic one stood still. */
  slept(ms: number): void
  /** Believes the machine's clock as it stands. */
  believe(): ClockStep
  /** The last step that was believed, to be kept over a restart; undefined when there was none. */
  lastStep(): ClockStep | undefined
  /** What `lastStep` gave before a restart. */
  recallStep(step: ClockStep): void
}

/** Judges `machine` by its own past until something else is expected of it. */
export function judgeClock(machine: Clock): JudgedClock {
  const pace = paceOf(machine)
  let servedMs = pace.expectedMs()
  let doubt: { readonly aheadMs: number; readonly from: string } | undefined
  let step: ClockStep | undefined

  const settle = (wallMs: number): void => {
    const byMs = Math.round(wallMs - pace.expectedMs())
    if (Math.abs(byMs) > TOLERANCE_MS) step = { atMs: wallMs, byMs }
    pace.begin(wallMs)
    servedMs = Math.abs(byMs) > TOLERANCE_MS ? wallMs : Math.max(servedMs, wallMs)
    doubt = undefined
  }
  /** It is where it should be: a clock that was set back a little stands still for that long. */
  const follow = (wallMs: number): void => {
    pace.follow(wallMs)
    servedMs = Math.max(servedMs, wallMs)
    doubt = undefined
  }
  const isWithin = (aheadByMs: number, aheadMs: number): boolean =>
    aheadByMs >= -TOLERANCE_MS && aheadByMs <= aheadMs
  const judge = (): void => {
    const wallMs = machine.nowMs()
    const aheadMs = doubt?.aheadMs ?? TOLERANCE_MS
    if (isWithin(wallMs - pace.expectedMs(), TOLERANCE_MS)) follow(wallMs)
    else if (isWithin(wallMs - pace.expectedMs(), aheadMs)) settle(wallMs)
    else doubt ??= { aheadMs, from: 'the time that has passed since the service started' }
  }
  const nowMs = (): number => {
    judge()
    if (doubt !== undefined) servedMs = Math.max(servedMs, pace.expectedMs())
    // Whole, as the machine's: the monotonic clock has fractions, which no column for a time takes.
    return Math.floor(servedMs)
  }
  const doubtful = (): Doubt | undefined => {
    judge()
    return doubt && { wallMs: machine.nowMs(), expectedMs: pace.expectedMs(), from: doubt.from }
  }

  return {
    nowMs,
    monotonicMs: () => machine.monotonicMs(),
    wallMs: () => machine.nowMs(),
    doubtful,
    doubt: () => doubtText(doubtful()),
    agoMs: (ms) => {
      const now = nowMs()
      if (step === undefined || step.byMs <= 0 || now - ms >= step.atMs) return now - ms
      return now - ms - step.byMs
    },
    expect: ({ expectedMs: wanted, aheadMs, from }) => {
      const wallMs = machine.nowMs()
      const isPlausible = isWithin(wallMs - wanted, aheadMs)
      const isPassed = isPlausible && aheadMs > TOLERANCE_MS
      pace.begin(isPassed ? Math.max(wanted, wallMs) : wanted)
      servedMs = isPlausible ? Math.max(wanted, wallMs) : wanted
      if (!isPlausible) doubt = { aheadMs, from }
    },
    slept: (ms) => pace.begin(pace.expectedMs() + ms),
    believe: () => {
      const before = nowMs()
      const wallMs = machine.nowMs()
      settle(wallMs)
      return { atMs: wallMs, byMs: wallMs - before }
    },
    lastStep: () => step,
    recallStep: (known) => {
      step = known
    },
  }
}

/** What the machine's clock should say by its own past. */
function paceOf(machine: Clock) {
  let base = { wallMs: machine.nowMs(), monoMs: machine.monotonicMs() }
  const expectedMs = (): number => base.wallMs + machine.monotonicMs() - base.monoMs
  const begin = (wallMs: number): void => {
    base = { wallMs, monoMs: machine.monotonicMs() }
  }
  return {
    expectedMs,
    begin,
    /** It says that, which is close: so much of the difference is forgiven as has time passed. */
    follow: (wallMs: number): void => {
      const most = (machine.monotonicMs() - base.monoMs) * FORGIVEN
      const expected = expectedMs()
      begin(expected + Math.max(-most, Math.min(most, wallMs - expected)))
    },
  }
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
  [1_000, 'seconds'],
]

/** `the machine's clock says …, 800 days ahead of …` */
export function doubtText(doubt: Doubt): string
export function doubtText(doubt: Doubt | undefined): string | undefined
export function doubtText(doubt: Doubt | undefined): string | undefined {
  if (doubt === undefined) return undefined
  const { wallMs, expectedMs, from } = doubt
  const byMs = Math.abs(wallMs - expectedMs)
  const [unitMs, unit] = UNITS.find(([ms]) => byMs >= 2 * ms) ?? [1_000, 'seconds']
  const way = wallMs > expectedMs ? 'ahead of' : 'behind'
  return `the machine's clock says ${timeText(wallMs)}, ${Math.round(byMs / unitMs)} ${unit} ${way} what ${from} lets expect`
}

/** A time of any size: a clock may say what no date can be made of. */
export function timeText(ms: number): string {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : `${ms} ms`
}
