import type { Clock, LogLevel, LogLevelHold } from '@steeple/contracts'

const LEVEL_NUMBERS: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 }

/** Which lines are written: the configuration's level, and what holds for a time in its place. */
export interface LogLevels {
  /** The configuration's. */
  base: LogLevel
  /** Whether a line of this level and component is written now. */
  takes(level: LogLevel, component: string): boolean
  /** Another level for a component (for all without one of their own when undefined); no level ends that. */
  hold(component: string | undefined, level: LogLevel | undefined, forMs: number): void
  /** What holds now, by component. */
  holds(): readonly LogLevelHold[]
}

interface Held {
  readonly level: LogLevel
  /** By the clock that never goes back: a wall clock that leaps neither ends nor prolongs it. */
  readonly untilMonotonicMs: number
}

/** Of all components that have none of their own. */
const EVERY = ''

/** Levels of which none is held. */
export function createLogLevels(base: LogLevel, clock: Clock): LogLevels {
  const held = new Map<string, Held>()
  const heldOf = (component: string): Held | undefined => {
    const found = held.get(component)
    if (found === undefined || found.untilMonotonicMs > clock.monotonicMs()) return found
    held.delete(component)
    return undefined
  }
  const levels: LogLevels = {
    base,
    takes: (level, component) => {
      const holds = held.size === 0 ? undefined : (heldOf(component) ?? heldOf(EVERY))
      return LEVEL_NUMBERS[level] >= LEVEL_NUMBERS[holds?.level ?? levels.base]
    },
    hold: (component = EVERY, level, forMs) => {
      if (level === undefined) held.delete(component)
      else held.set(component, { level, untilMonotonicMs: clock.monotonicMs() + forMs })
    },
    holds: () =>
      [...held.keys()].toSorted().flatMap((component) => {
        const found = heldOf(component)
        if (found === undefined) return []
        const untilMs = clock.nowMs() + found.untilMonotonicMs - clock.monotonicMs()
        return [{ component: component === EVERY ? undefined : component, level: found.level, untilMs }]
      }),
  }
  return levels
}
