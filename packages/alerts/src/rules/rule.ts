import { type AlertRule, type ManifestRule, msFromDuration } from '@steeple/contracts'
/** How much a person is needed. */
export type Severity = 'info' | 'warning' | 'critical'

/** What makes an alert of a finding. */
export interface Rule {
  readonly name: string
  readonly severity: Severity
  /** How long it is bad before it fires, ms. */
  readonly forMs: number
  /** How long it is well before it is over, ms. */
  readonly clearMs: number
}

/**
 * How a subject stands. `bad` is beyond the threshold, `good` is back behind the value that ends it, `between` is neither, so
 * that a value about the threshold begins and ends nothing; `unknown`: nobody can tell now.
 */
export type Level = 'bad' | 'between' | 'good' | 'unknown'

/** What a rule says of one subject. */
export interface Finding {
  readonly level: Level
  readonly value: number | undefined
  readonly threshold: number | undefined
  /** One sentence without secrets. */
  readonly message: string
}

/** What a rule has seen at one look. */
export interface Look {
  readonly rule: Rule
  /** Nothing was there to look at: it says of nothing that it is well. */
  readonly isBlind: boolean
  /** How many subjects are bad. */
  readonly badCount: number
  /** The subjects that are bad; the order is the same as long as they are. */
  bad(): Iterable<string>
  /** A subject of which nothing is known is `unknown`. */
  at(subject: string): Finding
}

/** Looks at something; asked every few seconds, so it does nothing that takes long. */
export interface Watch {
  /** For the log. */
  readonly about: string
  looks(): Promise<readonly Look[]>
  /** Begins to hear of events; called once, in `setup`, whether rules are looked at or not. */
  listen?(): void
}

/** A rule as a manifest or the configuration has it. */
export type RuleRow = ManifestRule & { readonly name: string }

/** Without `for` it fires at once. */
export function ruleOf({ name, severity, for: lasts = '0s', clear_for: clears = lasts }: RuleRow): Rule {
  return { name, severity, forMs: msFromDuration(lasts) ?? 0, clearMs: msFromDuration(clears) ?? 0 }
}

/** What is said of a subject that is not there. */
const UNKNOWN: Finding = { level: 'unknown', value: undefined, threshold: undefined, message: '' }

/** A look made of findings by subject. A subject without one is as `absent` says: unknown when nothing is said. */
export function lookOf(rule: Rule, findings: ReadonlyMap<string, Finding>, absent: Level = 'unknown'): Look {
  const bad = [...findings].filter(([, { level }]) => level === 'bad').map(([subject]) => subject)
  return {
    rule,
    isBlind: findings.size === 0 && absent === 'unknown',
    badCount: bad.length,
    bad: () => bad,
    at: (subject) => findings.get(subject) ?? { ...UNKNOWN, level: absent },
  }
}

type Op = AlertRule['op']

/** Whether `value op threshold` holds. */
function holds(value: number, op: Op, threshold: number): boolean {
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
