export { isRestorePending } from '@steeple/store'
export { acceptStoreLoss, missingStore, permitNewStore } from './composition/ground.ts'
export {
  type OfflineOptions,
  type OfflineStore,
  offlineTables,
  openOffline,
} from './composition/offline.ts'
export { fileOfStore, storeUrlOf } from './composition/store-url.ts'
export {
  type AuditedRotation,
  createKernel,
  type KernelOptions,
  rotateVaultAudited,
} from './create-kernel.ts'
export type { Kernel } from './kernel.ts'
export { KERNEL_TABLES, kernelMigrations } from './mutation/kernel-migrations.ts'
export type {
  IdempotencyClaim,
  Mutation,
  MutationResult,
  Mutations,
  Outbox,
  OutboxEvent,
  RateState,
  StoredReply,
} from './mutation/mutations.ts'
export type { EdgeGeneration, HttpEdge, RouteSet } from './plugins/edge.ts'
export type { LoadRequest } from './plugins/moves.ts'
export { disableOffline, uninstallOffline } from './plugins/offline.ts'
export type { PluginRecord } from './plugins/plugin-entries.ts'
export type { SecretState } from './plugins/plugin-secrets.ts'
export type { PluginRegistry } from './plugins/registry.ts'
export { completeRestore } from './state/complete-restore.ts'
