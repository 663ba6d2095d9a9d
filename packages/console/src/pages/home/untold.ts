/** What pages read by, and nobody needs to be told. */
export const UNTOLD: readonly string[] = [
  ...['ran.state', 'sim.synced', 'sim.pending', 'sim.many', 'session.many'],
  // The list of outages says it, those before this page was opened too.
  ...['incident.began', 'incident.over'],
]

/** What an entry of the trail tells of: the route that arms the transmitter disarms it, too. */
export function happened({
  action,
  detail,
}: {
  readonly action: string
  readonly detail: Readonly<Record<string, unknown>> | null
}): string {
  return action === 'tx.arm' && detail?.arm === false ? 'tx.disarm' : action
}
