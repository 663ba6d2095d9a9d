export { type ApplyOptions, type ApplyResult, applyConfigSet } from './config-set/apply.ts'
export type { Daemon, Drops } from './config-set/daemon.ts'
export {
  type ConfigSet,
  type ConfigSetPlan,
  type DaemonChange,
  type FileChange,
  planConfigSet,
} from './config-set/plan.ts'
export { renderedOf } from './config-set/sha256.ts'
export type { Limits, Probe } from './config-set/verify.ts'
export { type CoreConfig, createCoreConfig } from './core-config/core-config.ts'
export { CORE_CONFIG_RESOURCE } from './core-config/core-reconciler.ts'
export type { CoreConfigParts, CorePlace } from './core-config/parts.ts'
export type { CorePlan } from './core-config/plan-record.ts'
export { dockerAt, engineProblem } from './engine/docker-engine.ts'
export { type ContainerState, type Engine, engineAt } from './engine/engine.ts'
export { abortable, pause } from './time-limit.ts'
