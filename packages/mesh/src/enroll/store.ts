import { defineTable, type Migration, type Reader, type Table, type Tx } from '@steeple/contracts'

/** A node that is or was in the mesh whose root this node is. Never removed: its address is nobody else's. */
export interface MemberRow {
  readonly node_id: string
  readonly name: string
  /** Grows by one with each new node; 1 is the root. */
  readonly number: number
  /** IPv4. */
  readonly overlay_address: string
  /** SHA-256 of its SubjectPublicKeyInfo, hexadecimal: who comes back is known by its key. */
  readonly key_sha256: string
  /** `host:port` at which it says that its API answers. */
  readonly address: string | null
  /** IP address from which it was last seen. Observed. */
  readonly seen_address: string | null
  /** JSON of `PublishedWireguard`. */
  readonly wireguard: string | null
  readonly joined_at_ms: number
  readonly left_at_ms: number | null
}
export const MEMBERS: Table<MemberRow> = defineTable<MemberRow>(
  'mesh_member',
  [
    'node_id',
    'name',
    'number',
    'overlay_address',
    'key_sha256',
    'address',
    'seen_address',
    'wireguard',
    'joined_at_ms',
    'left_at_ms',
  ],
  ['node_id'],
)

/** A certificate that this node's CA issued to a member. */
export interface CertificateRow {
  /** As `IssuedCertificate.serial`. */
  readonly serial: string
  readonly node_id: string
  readonly pem: string
  readonly issued_at_ms: number
  readonly expires_at_ms: number
  readonly revoked_at_ms: number | null
}
export const CERTIFICATES: Table<CertificateRow> = defineTable<CertificateRow>(
  'mesh_certificate',
  ['serial', 'node_id', 'pem', 'issued_at_ms', 'expires_at_ms', 'revoked_at_ms'],
  ['serial'],
)

/** A value that has no table of its own: counters of the root, and what a member has learnt. */
export interface NoteRow {
  readonly name: string
  readonly value: string
}
export const NOTES: Table<NoteRow> = defineTable<NoteRow>('mesh_note', ['name', 'value'], ['name'])

/** Tables of enrollment; see README. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_members',
    up: [
      `create table mesh_member (
        node_id text primary key,
        name text not null,
        number integer not null,
        overlay_address text not null,
        key_sha256 text not null,
        address text,
        seen_address text,
        wireguard text,
        joined_at_ms bigint not null,
        left_at_ms bigint,
        row_sum bigint not null
      )`,
      'create unique index mesh_member_number on mesh_member (number)',
      'create unique index mesh_member_overlay on mesh_member (overlay_address)',
      `create table mesh_certificate (
        serial text primary key,
        node_id text not null,
        pem text not null,
        issued_at_ms bigint not null,
        expires_at_ms bigint not null,
        revoked_at_ms bigint,
        row_sum bigint not null
      )`,
      'create index mesh_certificate_node on mesh_certificate (node_id, issued_at_ms)',
      `create table mesh_note (
        name text primary key,
        value text not null,
        row_sum bigint not null
      )`,
    ],
  },
]

/** What a note is called. `revision` and `crl_number` are the root's, the others a member's. */
export type NoteName =
  | 'revision'
  | 'crl_number'
  | 'learnt'
  | 'crl'
  | 'heartbeat_seq'
  | 'wireguard'
  | 'expelled'

/** Every member that ever was. */
export function allMembers(reader: Reader): Promise<readonly MemberRow[]> {
  return MEMBERS.select(reader, 'order by number')
}

/** Those that are in and in whose WireGuard that key stands anywhere. */
export function membersNaming(reader: Reader, key: string): Promise<readonly MemberRow[]> {
  return MEMBERS.select(reader, 'where left_at_ms is null and wireguard like :part', { part: `%${key}%` })
}

/** The number of the next new node. */
export async function nextNumber(reader: Reader): Promise<number> {
  const row = await reader.get<{ readonly last: number | null }>(
    'select max(number) as last from mesh_member',
  )
  return Number(row?.last ?? 0) + 1
}

/** Certificates that end after that time, and those that are revoked. */
export function liveCertificates(reader: Reader, nowMs: number): Promise<readonly CertificateRow[]> {
  return CERTIFICATES.select(reader, 'where expires_at_ms > :now_ms order by issued_at_ms, serial', {
    now_ms: nowMs,
  })
}

/** The newest certificate of a node that is not revoked. */
export async function newestCertificate(reader: Reader, nodeId: string): Promise<CertificateRow | undefined> {
  const rows = await CERTIFICATES.select(
    reader,
    'where node_id = :node_id and revoked_at_ms is null order by issued_at_ms desc, serial limit 1',
    { node_id: nodeId },
  )
  return rows[0]
}

/** Revokes what a node has, and says which serials. */
export async function revokeCertificates(
  tx: Tx,
  nodeId: string,
  nowMs: number,
): Promise<readonly CertificateRow[]> {
  const rows = await CERTIFICATES.select(tx, 'where node_id = :node_id and revoked_at_ms is null', {
    node_id: nodeId,
  })
  const revoked = rows.map((row) => ({ ...row, revoked_at_ms: nowMs }))
  for (const row of revoked) await CERTIFICATES.put(tx, row)
  return revoked
}

/** Removes certificates that ended before that time: a list needs no serial of one that is over. RFC 5280 §3.3. */
export async function forgetCertificates(tx: Tx, beforeMs: number): Promise<readonly string[]> {
  const rows = await CERTIFICATES.select(tx, 'where expires_at_ms < :before_ms limit 500', {
    before_ms: beforeMs,
  })
  for (const { serial } of rows) await CERTIFICATES.remove(tx, { serial })
  return rows.map(({ serial }) => serial)
}

/** The value of a note. */
export async function readNote(reader: Reader, name: NoteName): Promise<string | undefined> {
  return (await NOTES.find(reader, { name }))?.value
}

/** Writes a note; undefined removes it. */
export async function putNote(tx: Tx, name: NoteName, value: string | undefined): Promise<void> {
  if (value === undefined) await NOTES.remove(tx, { name })
  else await NOTES.put(tx, { name, value })
}

/** Adds one to a counter, or more where it is below `atLeast` then, and gives what it is. */
export async function countUp(tx: Tx, name: 'revision' | 'crl_number', atLeast = 0): Promise<number> {
  const next = Math.max(Number((await readNote(tx, name)) ?? 0) + 1, atLeast)
  await putNote(tx, name, String(next))
  return next
}
