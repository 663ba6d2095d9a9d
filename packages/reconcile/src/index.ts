export {
  clusterHealth,
  type EpochReader,
  epochReader,
  joinCluster,
  observeCluster,
  type SharedStore,
  termGuard,
} from './cluster.ts'
export { joinElection } from './election.ts'
export { currentTerm, inTerm, type Leadership, mustOutlast, type Term, termSignal } from './leadership.ts'
export { LEASE_DDL, readLease } from './lease-row.ts'
export type { Places } from './places.ts'
export { createReconcileEngine, type ReconcileEngine } from './reconcile-engine.ts'
export { createReasons, createScheduler, type Reasons, type Scheduler } from './scheduler.ts'
