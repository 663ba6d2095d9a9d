export { createEdge, type Edge } from './edge.ts'
export type { EdgeKernel } from './edge-kernel.ts'
export {
  DEFAULT_LIMITS,
  type EdgeLimits,
  type EdgeOptions,
  type EdgeTls,
  type TlsMaterial,
} from './edge-options.ts'
export { listenAddressFrom } from './host/listeners.ts'
export { createSchemaChecks, type SchemaChecks } from './pipeline/schema-checks.ts'
