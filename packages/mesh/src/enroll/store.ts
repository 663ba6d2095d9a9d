import type { Reader, Tx } from '@steeple/contracts'
import { CERTIFICATES, type CertificateRow, MEMBERS, type MemberRow, NOTES } from './rows.ts'

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

/** A member, in or out. */
export function findMember(reader: Reader, nodeId: string): Promise<MemberRow | undefined> {
  return MEMBERS.find(reader, { node_id: nodeId })
}

/** Writes a member whole. */
export function putMember(tx: Tx, row: MemberRow): Promise<void> {
  return MEMBERS.put(tx, row)
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

/** A certificate by its serial. */
export function findCertificate(reader: Reader, serial: string): Promise<CertificateRow | undefined> {
  return CERTIFICATES.find(reader, { serial })
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

export function insertCertificate(tx: Tx, row: CertificateRow): Promise<void> {
  return CERTIFICATES.insert(tx, row)
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
