import type { Clock, Collection, Collector, ComponentHealth } from '@steeple/contracts'
import { inGroups, safeText } from '@steeple/telecom'

/** Intervals without a success after which a collector is down. */
const DOWN_AFTER = 4

type State = Pick<ComponentHealth, 'status' | 'detail'>

/** How one collector does. */
export interface CollectorWatch {
  worked(collection: Collection): void
  failed(error: unknown): void
  /** What it saw was counted. */
  counted(): void
  /** Why what it sees is not counted now; undefined: nothing keeps it from that. */
  waiting(why: string | undefined): void
  /** Seconds since what it saw was last counted, since it came when it never was. */
  lagS(): number
  /** With what the collector says of itself. */
  health(own: ReturnType<NonNullable<Collector['health']>> | undefined): State
}

/** Nothing is known of it yet. */
export function collectorWatch(
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  intervalMs: number,
): CollectorWatch {
  const since = monotonicMs()
  let lastOkMs: number | undefined
  let lastCountedMs: number | undefined
  let seen = ''
  let failure: string | undefined
  let obstacle: string | undefined
  const seconds = (from: number): string => `${Math.round((monotonicMs() - from) / 1_000)} s`
  const trouble = (): string | undefined => {
    if (failure === undefined) return undefined
    const ago = seconds(lastOkMs ?? since)
    return `${failure} (${lastOkMs === undefined ? `has not worked since it came ${ago} ago` : `last worked ${ago} ago`})`
  }
  const state = (): State => {
    const isLate = monotonicMs() - (lastOkMs ?? since) > DOWN_AFTER * intervalMs
    const what = trouble()
    if (what !== undefined) return { status: isLate ? 'down' : 'degraded', detail: what }
    if (obstacle !== undefined) {
      return { status: 'degraded', detail: `not counted for ${seconds(lastCountedMs ?? since)}: ${obstacle}` }
    }
    if (isLate) return { status: 'down', detail: `has not answered for ${seconds(lastOkMs ?? since)}` }
    if (lastOkMs === undefined) return { status: 'ok', detail: 'not asked yet' }
    return { status: 'ok', detail: `${seen} ${seconds(lastOkMs)} ago` }
  }
  return {
    lagS: () => (monotonicMs() - (lastCountedMs ?? since)) / 1_000,
    worked: ({ sightings, volumes }) => {
      seen = `${inGroups(sightings.length)} sessions, ${inGroups(volumes.length)} volumes`
      lastOkMs = monotonicMs()
      failure = undefined
    },
    failed: (error) => {
      failure = safeText(error)
    },
    counted: () => {
      lastCountedMs = monotonicMs()
      obstacle = undefined
    },
    waiting: (why) => {
      obstacle = why
    },
    health: (own) => (own === undefined ? state() : worse(state(), own)),
  }
}

const GRADES = ['ok', 'degraded', 'down'] as const

/** The worse status, and what both say. */
function worse(one: State, other: State): State {
  const grade = Math.max(GRADES.indexOf(one.status), GRADES.indexOf(other.status))
  const details = [one, other].map(({ detail }) => detail).filter((detail) => detail !== '')
  return { status: GRADES[grade] ?? 'down', detail: safeText(details.join('; ')) }
}
