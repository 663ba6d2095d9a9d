export { systemClock } from './clock.ts'
export {
  type OfflineOptions,
  type OfflineStore,
  offlineTables,
  openOffline,
  storeUrlOf,
} from './composition/offline.ts'
export { pluginConfigPaths } from './composition/plugin-config-paths.ts'
export { checkConfig } from './config/check-config.ts'
export { type ConfigFlags, DEFAULT_CONFIG_FILE } from './config/config-sources.ts'
export { diffSettings } from './config/diff-settings.ts'
export { environmentTable } from './config/environment.ts'
export { type ConfigOptions, type LoadedConfig, loadConfig } from './config/load-config.ts'
export { createKernel, type KernelOptions } from './create-kernel.ts'
export type { Kernel } from './kernel.ts'
export { createLog, type KernelLog } from './log.ts'
export type { KernelMetrics } from './metrics.ts'
export { type AuditTrailOptions, createAuditTrail } from './mutation/audit-trail.ts'
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
export { type InstalledPlugin, installPlugin } from './plugins/install.ts'
export type { PluginRecord } from './plugins/records.ts'
export type { LoadRequest, PluginRegistry } from './plugins/registry.ts'
export { type InitOptions, type InitResult, initNode } from './secrets/init-node.ts'
export { openSecrets, type Secrets } from './secrets/open-secrets.ts'
export { type RotationOptions, type RotationReport, rotateVault } from './secrets/rotate-vault.ts'
export { createVault, type KernelVault } from './secrets/vault.ts'
export type { Database } from './store/database.ts'
export { type IntegrityReport, scanIntegrity } from './store/integrity.ts'
export { openDatabase, type StoreOptions } from './store/open.ts'
export { systemTimers, type Timers } from './timers.ts'
