import { defineTable, type Table } from '@steeple/contracts'

/** Something that happened and that lasts until something else happens. */
export interface FactRow {
  readonly name: string
  readonly at_ms: number
  readonly subject: string
}

export const FACTS: Table<FactRow> = defineTable('alerts_fact', ['name', 'at_ms', 'subject'], ['name'])
