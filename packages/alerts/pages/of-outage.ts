/** What these rules tell of is an outage as long as it lasts, and nothing afterwards. */
const OF_OUTAGES: ReadonlySet<string> = new Set([
  ...['component_down', 'heartbeat_stale', 'disk_low', 'disk_almost_full'],
  ...['no_registration', 'nobody_attached', 'backup_overdue'],
])

/** Whether an outage says what such an alert says: without one it is over. */
export function isOfOutage({ rule, subject }: { readonly rule: string; readonly subject: string }): boolean {
  return OF_OUTAGES.has(rule) || (rule === 'clock_skew' && subject === 'clock')
}
