/** What pages read by, and nobody needs to be told. */
export const UNTOLD: readonly string[] = ['ran.state', 'sim.synced', 'sim.pending', 'sim.many']
