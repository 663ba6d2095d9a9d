import { hash, X509Certificate } from 'node:crypto'
import { type Membership, systemPrincipal, type Tx } from '@steeple/contracts'
import { ALL, BOX, type Parts } from '../context.ts'
import { type BoxDocument, digestOf, type Kept, orderOf, readDocument, verified } from '../document.ts'
import { canonical, type PartName } from '../state.ts'
import { DESIRED, type DesiredRow, ONLY, PART_ROWS, type PartRow, PERMITS } from '../store.ts'

/** The hub of this box, as a permit names it. */
export interface Hub {
  readonly membership: Membership
  readonly id: string
  readonly caSha256: string
}

/** Undefined while this box is in no mesh of another one. */
export function hubOf({ identity }: Pick<Parts, 'identity'>): Hub | undefined {
  const membership = identity.membership()
  if (membership === undefined) return undefined
  const { raw } = new X509Certificate(membership.caPem)
  return { membership, id: membership.rootNodeId, caSha256: hash('sha256', raw) }
}

function isOf(hub: Hub, row: { readonly hub_id: string; readonly ca_sha256: string }): boolean {
  return row.hub_id === hub.id && row.ca_sha256 === hub.caSha256
}

/** What this box keeps of that hub; undefined when it has taken nothing of it. */
export async function keptOf(
  { context }: Pick<Parts, 'context'>,
  hub: Hub,
): Promise<(DesiredRow & Kept) | undefined> {
  const row = await DESIRED.find(context.db, { id: ONLY })
  return row !== undefined && isOf(hub, row) ? { ...row, digest: digestOf(row.document) } : undefined
}

/** The parts that an admin of this box lets that hub set. */
export async function permittedOf(
  { context }: Pick<Parts, 'context'>,
  hub: Hub,
): Promise<readonly PartName[]> {
  const row = await PERMITS.find(context.db, { id: ONLY })
  // Written by the route, from its schema.
  return row !== undefined && isOf(hub, row) ? (JSON.parse(row.parts) as readonly PartName[]) : []
}

/** What was done with a document: taken, known already, or refused as older or as another one of the same version. */
export type Receipt = ReturnType<typeof orderOf>

/**
 * Takes a document of the hub if it is newer than what is kept: durable when it resolves, and before anything of it is applied. Throws
 * `validation_failed` for one that is not of that hub for this box.
 */
export async function receive(parts: Parts, hub: Hub, answer: unknown): Promise<Receipt> {
  const { context, node } = parts
  const { text, version } = verified(answer, { caPem: hub.membership.caPem, hub: hub.id, node: node.nodeId })
  const coming: Kept = { version, digest: digestOf(text) }
  const kept = await keptOf(parts, hub)
  if (orderOf(kept, coming) !== 'newer') return orderOf(kept, coming)
  await context.mutate(systemPrincipal('groups'), 'groups.take', node.nodeId, async (tx) => {
    const { groups, state } = readDocument(text)
    tx.audit({ detail: { hub: hub.id, version, groups, parts: Object.keys(state) } })
    await keep(
      tx,
      { hub_id: hub.id, ca_sha256: hub.caSha256, version, document: text },
      context.clock.nowMs(),
    )
    tx.dirty(BOX, ALL)
  })
  return 'newer'
}

async function keep(tx: Tx, row: Omit<DesiredRow, 'id' | 'taken_at_ms'>, nowMs: number): Promise<void> {
  const before = await DESIRED.find(tx, { id: ONLY })
  // Whoever asked beside this one may have brought a newer one meanwhile.
  const isOlder =
    before?.hub_id === row.hub_id && before.ca_sha256 === row.ca_sha256 && before.version >= row.version
  if (isOlder) return
  if (before !== undefined && before.ca_sha256 !== row.ca_sha256) await tx.run('delete from groups_part')
  else if (before !== undefined) await carryDone(tx, before, row)
  await DESIRED.put(tx, { id: ONLY, ...row, taken_at_ms: nowMs })
}

/** What a part was applied for is not applied again because another part has changed: what somebody changed here since stays. */
async function carryDone(
  tx: Tx,
  before: DesiredRow,
  { version, document }: Pick<DesiredRow, 'version' | 'document'>,
): Promise<void> {
  const { state: was } = readDocument(before.document)
  const { state: is } = readDocument(document)
  for (const row of await PART_ROWS.select(tx, '')) {
    const isSame =
      row.part in is && canonical(was[row.part as PartName]) === canonical(is[row.part as PartName])
    if (isSame && row.version === before.version && row.status === 'applied')
      await PART_ROWS.put(tx, { ...row, version })
  }
}

/** What is kept, read again. */
export function documentOf({ document }: DesiredRow): BoxDocument {
  return readDocument(document)
}

/** What became of the parts so far. */
export async function partRows({ context }: Pick<Parts, 'context'>): Promise<ReadonlyMap<string, PartRow>> {
  return new Map((await PART_ROWS.select(context.db, '')).map((row) => [row.part, row]))
}
