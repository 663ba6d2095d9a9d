export { isRestorePending } from '@steeple/store'
export { isSynchronised } from './clock/clock-keeper.ts'
export { systemClock, systemTimers } from './clock/deadline.ts'
export { fileOfStore } from './composition/data-dir-lock.ts'
export { rotateVaultAudited } from './composition/housekeeping.ts'
export {
  type OfflineOptions,
  type OfflineStore,
  offlineTables,
  openOffline,
  type PluginHere,
  pluginsHere,
} from './composition/offline.ts'
export { acceptStoreLoss, missingStore, permitNewStore } from './composition/open-store.ts'
export type { Kernel } from './create-kernel.ts'
export { createKernel } from './create-kernel.ts'
export type {
  IdempotencyClaim,
  Mutation,
  MutationResult,
  Outbox,
  OutboxEvent,
  RateState,
  StoredReply,
} from './mutation/mutations.ts'
export type { InstalledPlugin } from './plugin-packages/install.ts'
export { installPlugin } from './plugin-packages/install.ts'
export { createKeptStates, RAN } from './plugin-packages/kept-states.ts'
export { readManifest } from './plugin-packages/manifest.ts'
export { packPlugin } from './plugin-packages/pack.ts'
export { keyId } from './plugin-packages/trust.ts'
export type { EdgeGeneration, HttpEdge, RouteSet } from './plugins/host.ts'
export type { PluginRecord } from './plugins/plugin-entries.ts'
export { disableOffline, uninstallOffline } from './plugins/registry.ts'
export { readLease } from './reconcile/election.ts'
export { completeRestore } from './state/complete-restore.ts'
export type { KernelLog } from './telemetry/log.ts'
export { createLog } from './telemetry/log.ts'
export { scrubText } from './telemetry/log-redaction.ts'
