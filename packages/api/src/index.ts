export { createEdge, type Edge } from './edge.ts'
export type { EdgeKernel } from './edge-kernel.ts'
export type {
  EdgeLimits,
  EdgeOptions,
  EdgeTls,
  TlsMaterial,
} from './edge-options.ts'
export { createSchemaChecks, type SchemaChecks } from './pipeline/schema-checks.ts'
