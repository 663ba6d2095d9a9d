/** What was counted in an hour. `at` is when it began, RFC 3339. */
interface Counted {
  readonly at: string
  readonly up_bytes: number
  readonly down_bytes: number
}

/** An hour or a day of the reader's, and what was used in it. */
export interface Step {
  /** When it begins, ms since 1970. */
  readonly atMs: number
  readonly downBytes: number
  readonly upBytes: number
}

/** How long a step of a chart is. */
export type StepLength = 'hour' | 'day'

/** The beginning, in the reader's zone, of the first of so many steps the last of which is going on now. */
export function beginning(nowMs: number, length: StepLength, count: number): number {
  return moved(startOf(nowMs, length), length, 1 - count)
}

/**
 * All steps from `fromMs`, which one of them begins with, until now, those in which nothing was counted too. An hour of the count that
 * lies in two days of the reader's is of the day in which it begins.
 */
export function stepsOf(
  counted: readonly Counted[],
  fromMs: number,
  nowMs: number,
  length: StepLength,
): readonly Step[] {
  const steps: Step[] = []
  for (let atMs = fromMs; atMs <= nowMs; atMs = moved(atMs, length, 1))
    steps.push({ atMs, downBytes: 0, upBytes: 0 })
  for (const { at, up_bytes: up, down_bytes: down } of counted) {
    const place = Math.max(0, placeOf(steps, Date.parse(at)))
    const step = steps[place]
    if (step === undefined) continue
    steps[place] = { ...step, downBytes: step.downBytes + down, upBytes: step.upBytes + up }
  }
  return steps
}

/** Which of the steps goes on at that moment: the last that has begun; -1 before all of them. */
export function placeOf(steps: readonly Step[], atMs: number): number {
  return steps.findLastIndex((step) => step.atMs <= atMs)
}

/** When the step after that moment's begins. */
export function nextStep(atMs: number, length: StepLength): number {
  return moved(atMs, length, 1)
}

function startOf(atMs: number, length: StepLength): number {
  const date = new Date(atMs)
  return length === 'hour' ? date.setMinutes(0, 0, 0) : date.setHours(0, 0, 0, 0)
}

/** A day is not always of 24 hours. */
function moved(atMs: number, length: StepLength, steps: number): number {
  if (length === 'hour') return atMs + steps * 3_600_000
  const date = new Date(atMs)
  return date.setDate(date.getDate() + steps)
}
