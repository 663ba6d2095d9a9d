import { wordsOf } from '@steeple/console/kit'

/** What these rules tell of is an outage as long as it lasts, and nothing afterwards; so is what is called as a kind of incident. */
const OF_OUTAGES: ReadonlySet<string> = new Set(['component_down', 'heartbeat_stale', 'disk_almost_full'])

/** Whether an outage says what such an alert says: without one it is over. */
export function isOfOutage({ rule, subject }: { readonly rule: string; readonly subject: string }): boolean {
  return (
    OF_OUTAGES.has(rule) ||
    wordsOf('incident.title').includes(rule) ||
    (rule === 'clock_skew' && subject === 'clock')
  )
}
