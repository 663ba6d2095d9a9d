export { clockHealth } from './clock-health.ts'
export {
  CLOCK_DDL,
  CLOCK_SPEC,
  type ClockKeeper,
  createClockKeeper,
  type Earliest,
  isSynchronised,
  type Machine,
  thisMachine,
} from './clock-keeper.ts'
export { systemTimers, type Timers, within } from './deadline.ts'
export { type JudgedClock, judgeClock } from './judged-clock.ts'
export { systemClock } from './system-clock.ts'
export { agoMs, type WindowClock } from './window-clock.ts'
