import { defineTable, type Reader, type Table, type Tx } from '@steeple/contracts'

/** A link that was not opened yet: the hash of its token, never itself. Times are ms since the epoch. */
export interface LinkRow {
  readonly id: string
  readonly token_sha256: string
  /** JSON of who made it: `{kind, id, name, roles}`. */
  readonly maker: string
  /** The credential that it, and what it opens, ends with: see `derived/source.ts`. */
  readonly parent: string
  readonly created_at_ms: number
  readonly expires_at_ms: number
}

export const LINKS: Table<LinkRow> = defineTable(
  'access_link',
  ['id', 'token_sha256', 'maker', 'parent', 'created_at_ms', 'expires_at_ms'],
  ['id'],
)

/** The oldest gives way: who draws links has a credential, and needs one link. */
const MOST_OPEN = 16

/** Adds a link; those of the same credential that are too many, and all that are over, go. */
export async function insertLink(tx: Tx, row: LinkRow): Promise<void> {
  await tx.run('delete from access_link where expires_at_ms <= :now_ms', { now_ms: row.created_at_ms })
  await LINKS.insert(tx, row)
  const open = await LINKS.select(tx, 'where parent = :parent order by created_at_ms desc, id', {
    parent: row.parent,
  })
  for (const { id } of open.filter((one) => one.id !== row.id).slice(MOST_OPEN - 1))
    await LINKS.remove(tx, { id })
}

/** The link with that hash, checked. */
export async function findLink(reader: Reader, sha256: string): Promise<LinkRow | undefined> {
  const [row] = await LINKS.select(reader, 'where token_sha256 = :sha256', { sha256 })
  return row
}

/** Removes the links that end with that credential. */
export async function removeLinksUnder(tx: Tx, parent: string): Promise<void> {
  await tx.run('delete from access_link where parent = :parent', { parent })
}

export async function removeAllLinks(tx: Tx): Promise<void> {
  await tx.run('delete from access_link')
}

/** The links that are good still, by id behind `afterId`, at most `limit`. */
export function openLinks(
  reader: Reader,
  nowMs: number,
  limit: number,
  afterId: string,
): Promise<readonly LinkRow[]> {
  return LINKS.select(reader, 'where expires_at_ms > :now_ms and id > :after_id order by id limit :limit', {
    ...{ now_ms: nowMs, after_id: afterId, limit },
  })
}
