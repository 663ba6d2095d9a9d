import type { Instance, Migration, TableSpec } from '@steeple/contracts'

/** What one part of the plugin contributes; the plugin puts the parts together. */
export type MeshPart = Instance

/** Schema and checksummed tables of one part. */
export interface PartTables {
  readonly migrations: readonly Migration[]
  readonly tables: readonly TableSpec[]
}
