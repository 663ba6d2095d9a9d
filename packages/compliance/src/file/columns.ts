/**
 * The columns of the file, in their order, with what they say. They are stable: a later version adds its own at the end, and
 * changes or removes none. docs/reference/regulator-file.md says which of them a kind fills.
 */
export const COLUMNS = [
  ['kind', 'What the row is about.'],
  ['id', 'Which one of its kind: a number that grows, or the id of a TX interval.'],
  ['at', 'When it happened or began: RFC 3339, UTC, milliseconds.'],
  ['until', 'When it ended; empty while it lasts, and for what has no length.'],
  ['subject', 'Whom or what it is about: the hash of a SIM, the id of a node.'],
  ['from', 'The state before.'],
  ['to', 'The state after.'],
  ['reason', 'Why.'],
  ['by', 'Who did it: kind:id, or kind:id/name.'],
  ['profile', 'Id of the radio profile.'],
  ['technology', 'lte or nr.'],
  ['band', 'b3, n78.'],
  ['channel', 'Downlink EARFCN or NR-ARFCN.'],
  ['bandwidth_mhz', 'Bandwidth of the carrier, MHz.'],
  ['eirp_dbm', 'Power that the antenna radiates, dBm.'],
  ['country', 'ISO 3166-1 alpha-2.'],
  ['license_reference', 'Reference of the license in force.'],
  ['license_holder', 'Holder of the license in force.'],
  ['apn', 'Access point name.'],
  ['plmn', 'The network: 999-99.'],
  ['ue_address', 'IPv4 address or IPv6 prefix of the phone.'],
  ['cell', 'The cell, as the core names it.'],
  ['up_bytes', 'Octets from the phone.'],
  ['down_bytes', 'Octets to the phone.'],
  ['detail', 'What else there is to say; JSON where it begins with { or [.'],
] as const

export type Column = (typeof COLUMNS)[number][0]

/** The names of all columns, in order. */
export const COLUMN_NAMES: readonly Column[] = COLUMNS.map(([name]) => name)

/** A row: the cells that it has. Null and absent are both an empty cell. */
export type ExportRow = Readonly<Partial<Record<Column, string | number | null>>>
