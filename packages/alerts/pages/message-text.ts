import { wordsOf } from '@steeple/console/kit'

/** What these rules tell of is an outage as long as it lasts, and nothing afterwards; so is what is called as a kind of incident. */
const OF_OUTAGES: ReadonlySet<string> = new Set(['component_down', 'heartbeat_stale', 'disk_almost_full'])

/** Whether an outage says what such an alert says: without one it is over. */
export function isOfOutage({ rule, subject }: Pick<About, 'rule' | 'subject'>): boolean {
  return (
    OF_OUTAGES.has(rule) ||
    wordsOf('incident.title').includes(rule) ||
    (rule === 'clock_skew' && subject === 'clock')
  )
}

/** What of an alert says whom it is about. */
interface About {
  readonly rule: string
  readonly subject: string
  readonly label: string | null
  readonly message: string
  readonly severity: string
}

/** The subject is a SIM. */
const HASH = /^[0-9a-f]{12}$/

/** Whether an alert is about a SIM. */
export function isOfSim({ subject }: Pick<About, 'subject'>): boolean {
  return HASH.test(subject)
}

/** The message with the name of the SIM in place of its hash. */
export function messageText({ subject, label, message }: Omit<About, 'severity'>): string {
  return label === null || !isOfSim({ subject }) ? message : message.replace(`SIM ${subject}`, label)
}

const GRAVITY = ['critical', 'warning', 'info']

/** The gravest first, without what a graver one of the same SIM says in the same words, whatever the numbers: 80 % is used where all of it is. */
export function withoutRepeats<One extends About>(alerts: readonly One[]): readonly One[] {
  const said = new Set<string>()
  const gravestFirst = alerts.toSorted((a, b) => GRAVITY.indexOf(a.severity) - GRAVITY.indexOf(b.severity))
  return gravestFirst.filter((one) => {
    const words = `${one.subject} ${one.message.replaceAll(/\d+/g, '')}`
    const isRepeat = isOfSim(one) && said.has(words)
    said.add(words)
    return !isRepeat
  })
}
