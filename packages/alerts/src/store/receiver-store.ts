import { defineTable, type Reader, type Table } from '@steeple/contracts'
import type { Severity } from '../rules/rule.ts'

/** A receiver that somebody has added. */
export interface ReceiverRow {
  readonly name: string
  /** One of `KINDS`; a later version may have written another. */
  readonly kind: string
  /** Where the connection goes, as a URL without a path. */
  readonly server: string
  readonly min_severity: Severity
  readonly is_resolved_too: number
  readonly allow_private: number
  /** Where people find the console; null where nobody has said. */
  readonly link: string | null
  /** JSON without secrets. */
  readonly settings: string
  /** JSON, sealed. */
  readonly secrets_sealed: Uint8Array
}

/** The receivers that somebody has added. */
export const RECEIVERS: Table<ReceiverRow> = defineTable(
  'alerts_receiver',
  [
    'name',
    'kind',
    'server',
    'min_severity',
    'is_resolved_too',
    'allow_private',
    'link',
    'settings',
    'secrets_sealed',
  ],
  ['name'],
)

/** As many as there may be. */
export const MOST_RECEIVERS = 20

export async function allReceivers(reader: Reader): Promise<readonly ReceiverRow[]> {
  return (await RECEIVERS.sound(reader, `order by name limit ${MOST_RECEIVERS}`, {})).rows
}
