import type { AlertRule } from '@steeple/contracts'
import type { Level } from './rule.ts'

/** How a rule compares. */
export type Op = AlertRule['op']

/** Whether `value op threshold` holds. */
export function holds(value: number, op: Op, threshold: number): boolean {
  switch (op) {
    case '>':
      return value > threshold
    case '>=':
      return value >= threshold
    case '<':
      return value < threshold
    case '<=':
      return value <= threshold
    case '==':
      return value === threshold
    case '!=':
      return value !== threshold
  }
}

/** The level of a value; one that is no number is unknown. It is good again when it does not hold for `clear` either. */
export function levelOf(value: number, op: Op, threshold: number, clear: number = threshold): Level {
  if (Number.isNaN(value)) return 'unknown'
  if (holds(value, op, threshold)) return 'bad'
  return clear !== threshold && holds(value, op, clear) ? 'between' : 'good'
}
