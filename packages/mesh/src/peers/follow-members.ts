import { randomBytes } from 'node:crypto'
import { systemPrincipal } from '@steeple/contracts'
import type { Member, Members, PublishedWireguard } from '../members.ts'
import { isKey } from '../wireguard/keys.ts'
import { parseCidr } from './cidr.ts'
import { endpointText, parseHostPort } from './endpoint.ts'
import { KEEPALIVE_S, KEY_RESOURCE, type PeersParts } from './parts.ts'
import { allPeers, listOf, PEERS, type PeerRow } from './peer-store.ts'
import { spelled, strangeAddress } from './reserved-networks.ts'

/** Routes of one member that are looked at. */
const MAX_ROUTES = 64

/** What becomes of a row so that it says what the list of members does. */
export interface MemberChange {
  readonly action: 'peer.join' | 'peer.follow' | 'peer.leave'
  readonly row: PeerRow
}

/** A member that is no peer here, and what of it does not fit. */
export interface RefusedMember {
  readonly nodeId: string
  readonly name: string
  readonly why: string
}

/** Members are peers of one another by themselves; those that are refused are on the board. */
export async function adoptMembers(parts: PeersParts): Promise<void> {
  const { context, members, board } = parts
  const rows = await allPeers(context.db)
  const refused = refusedMembers(rows, members.list(), strangeAddress(parts))
  tellRefused(parts, refused)
  board.refused = refused
  const ids = new Set(refused.map(({ nodeId }) => nodeId))
  // A refused one that is a peer stays what it is: that it is a member still is not in doubt.
  const kept = new Set(rows.filter(({ node_id }) => node_id !== null && ids.has(node_id)).map(({ id }) => id))
  const sound = members.list().filter(({ nodeId }) => !ids.has(nodeId))
  const changes = memberChanges(rows, sound, context.clock.nowMs(), members.hasPutOut)
  for (const { action, row } of changes.filter(({ row }) => !kept.has(row.id))) {
    await context.mutate(systemPrincipal('mesh'), action, row.id, async (tx) => {
      await PEERS.put(tx, row)
      tx.audit({ detail: { name: row.name, node_id: row.node_id, public_key: row.public_key } })
      tx.event({ type: action, subject: row.id, data: { name: row.name } })
      if (row.next_key !== null) tx.dirty(KEY_RESOURCE, row.id)
    })
  }
}

function tellRefused({ context, board }: PeersParts, refused: readonly RefusedMember[]): void {
  const told = new Set(board.refused.map(({ nodeId, why }) => `${nodeId} ${why}`))
  for (const { nodeId, why } of refused)
    if (!told.has(`${nodeId} ${why}`)) context.log.warn({ node_id: nodeId, why }, 'member refused as a peer')
}

/**
 * Members that are not believed, whatever the root says of them: who claims the key or the address of another peer, and
 * those whose address is none that the mesh may use here (`strange` says why). One that keeps the address that it has is
 * not asked again: the network of a mesh may change.
 */
function refusedMembers(
  rows: readonly PeerRow[],
  members: readonly Member[],
  strange: (address: string) => string | undefined,
): readonly RefusedMember[] {
  const byNode = byNodeId(rows)
  const wanted = rows.filter(({ removed_at_ms }) => removed_at_ms === null)
  const byKey = byKeys(wanted)
  const byAddress = Map.groupBy(wanted, ({ address }) => address)
  return members.flatMap(({ isSelf, nodeId, name, overlayAddress, wireguard }): readonly RefusedMember[] => {
    if (isSelf || wireguard === undefined) return []
    const own = byNode.get(nodeId)
    const isOther = ({ id }: PeerRow): boolean => id !== own?.id
    const holder = byKey.get(wireguard.public_key)?.find(isOther)
    if (holder !== undefined) return [{ nodeId, name, why: `its key is that of the peer ${holder.name}` }]
    const neighbour = byAddress.get(overlayAddress)?.find(isOther)
    if (neighbour !== undefined)
      return [{ nodeId, name, why: `its address ${overlayAddress} is that of the peer ${neighbour.name}` }]
    const why = own?.address === overlayAddress ? undefined : strange(overlayAddress)
    return why === undefined ? [] : [{ nodeId, name, why: `its address ${overlayAddress} ${why}` }]
  })
}

/** The first row of each node: a mesh of a thousand is looked at each 5 s, and each row once. */
function byNodeId(rows: readonly PeerRow[]): ReadonlyMap<string | null, PeerRow> {
  return new Map(rows.map((row) => [row.node_id, row] as const).toReversed())
}

/** The rows that have a key now or next, by it, in their order. */
function byKeys(rows: readonly PeerRow[]): ReadonlyMap<string, readonly PeerRow[]> {
  const found = new Map<string, PeerRow[]>()
  for (const row of rows)
    for (const key of new Set([row.public_key, row.next_key])) {
      if (key === null) continue
      const held = found.get(key)
      if (held === undefined) found.set(key, [row])
      else held.push(row)
    }
  return found
}

/** The changes that make the rows follow the members. Pure but for the ids of new ones. */
export function memberChanges(
  rows: readonly PeerRow[],
  members: readonly Member[],
  nowMs: number,
  hasPutOut: Members['hasPutOut'],
): readonly MemberChange[] {
  const names = new Set(rows.filter(({ removed_at_ms }) => removed_at_ms === null).map(({ name }) => name))
  const changes: MemberChange[] = []
  const [byNode, byKey] = [byNodeId(rows), byKeys(rows)]
  for (const member of members) {
    const change = followed(member, { nowMs, names, byNode, byKey })
    if (change === undefined) continue
    names.add(change.row.name)
    changes.push(change)
  }
  return [...changes, ...departed(rows, members, nowMs, hasPutOut)]
}

interface FollowTerms {
  readonly nowMs: number
  /** Names that are in use. */
  readonly names: ReadonlySet<string>
  readonly byNode: ReturnType<typeof byNodeId>
  readonly byKey: ReturnType<typeof byKeys>
}

function followed({ isSelf, wireguard, ...member }: Member, terms: FollowTerms): MemberChange | undefined {
  if (isSelf || wireguard === undefined || !isKey(wireguard.public_key)) return undefined
  const { byNode, byKey } = terms
  const before = byNode.get(member.nodeId) ?? formerHolder(byKey, wireguard.public_key)
  if (before?.removed_by === 'operator' && before.node_id !== null) return undefined
  const isTaken = (key: string): boolean => byKey.get(key)?.some(({ id }) => id !== before?.id) === true
  if (isTaken(wireguard.public_key)) return undefined
  const row: PeerRow = {
    ...(before ?? newRow(terms.nowMs)),
    ...keysOf(before, wireguard, isTaken),
    name: nameOf(before, member, terms.names),
    source: 'mesh',
    endpoint: endpointOf(wireguard) ?? before?.endpoint ?? null,
    address: member.overlayAddress,
    advertised: JSON.stringify(soundRoutes(wireguard.advertised)),
    approved: before === undefined || !isSameBox(before, member.nodeId, wireguard) ? '[]' : before.approved,
    node_id: member.nodeId,
    removed_at_ms: null,
    removed_by: null,
  }
  if (before === undefined) return { action: 'peer.join', row }
  if (!differs(before, row)) return undefined
  return { action: 'peer.follow', row: { ...row, changed_at_ms: terms.nowMs } }
}

/**
 * Whether what was approved of a peer counts for a member. A key is no secret, and nobody has proved it: it is not of whoever says
 * to be that peer. Nor is it of the id alone where a peer comes back, which another root may have given to another box.
 */
function isSameBox(before: PeerRow, nodeId: string, { public_key }: PublishedWireguard): boolean {
  return before.node_id === nodeId && (before.removed_at_ms === null || before.public_key === public_key)
}

/**
 * The row of a key that nobody is linked by now: it has its place in the table still. Whoever an operator has linked by hand
 * and removed again may come as a member.
 */
function formerHolder(byKey: FollowTerms['byKey'], publicKey: string): PeerRow | undefined {
  return byKey
    .get(publicKey)
    ?.find(({ public_key, removed_at_ms }) => public_key === publicKey && removed_at_ms !== null)
}

/** Where it is this node that has left, what was approved is kept for those that it meets again under another root. */
function departed(
  rows: readonly PeerRow[],
  members: readonly Member[],
  nowMs: number,
  hasPutOut: Members['hasPutOut'],
): readonly MemberChange[] {
  const present = new Set(members.map(({ nodeId }) => nodeId))
  return rows
    .filter(({ source, removed_at_ms }) => source === 'mesh' && removed_at_ms === null)
    .filter(({ node_id }) => node_id === null || !present.has(node_id))
    .map((row) => ({
      action: 'peer.leave',
      row: {
        ...row,
        removed_at_ms: nowMs,
        removed_by: 'mesh',
        approved: row.node_id === null || hasPutOut(row.node_id) ? '[]' : row.approved,
        changed_at_ms: nowMs,
      },
    }))
}

/** A peer that is new, or comes back: what it is known by stays. */
export function newRow(
  nowMs: number,
  before?: PeerRow,
): Omit<PeerRow, 'name' | 'source' | 'public_key' | 'advertised'> {
  return {
    id: before?.id ?? `p-${randomBytes(8).toString('hex')}`,
    next_key: null,
    former_key: before?.former_key ?? null,
    psk_sealed: null,
    endpoint: null,
    keepalive_s: KEEPALIVE_S,
    address: null,
    approved: '[]',
    node_id: before?.node_id ?? null,
    fingerprint: before?.fingerprint ?? null,
    removed_at_ms: null,
    removed_by: null,
    created_at_ms: before?.created_at_ms ?? nowMs,
    changed_at_ms: nowMs,
  }
}

function nameOf(
  before: PeerRow | undefined,
  { nodeId, name }: Pick<Member, 'nodeId' | 'name'>,
  names: ReadonlySet<string>,
): string {
  if (before !== undefined && before.removed_at_ms === null) return before.name
  return names.has(name) ? `${name}-${nodeId.slice(0, 8)}` : name
}

function keysOf(
  before: PeerRow | undefined,
  { public_key: publicKey, next_public_key: nextKey }: PublishedWireguard,
  isTaken: (key: string) => boolean,
): Pick<PeerRow, 'public_key' | 'next_key' | 'former_key'> {
  const isNew = before !== undefined && before.public_key !== publicKey
  // Its packets came under the next key already, and the list is from before.
  if (isNew && before.former_key === publicKey && nextKey === before.public_key) return before
  const isSound = nextKey !== null && isKey(nextKey) && !isTaken(nextKey)
  return {
    public_key: publicKey,
    next_key: isSound ? nextKey : null,
    former_key: isNew ? before.public_key : (before?.former_key ?? null),
  }
}

function endpointOf({ endpoint }: PublishedWireguard): string | undefined {
  const parsed = endpoint === null ? undefined : parseHostPort(endpoint)
  return parsed === undefined ? undefined : endpointText(parsed)
}

/** Another box wrote them. */
function soundRoutes(routes: readonly string[]): readonly string[] {
  const sound = routes.slice(0, MAX_ROUTES).filter((text) => parseCidr(text) !== undefined)
  return [...new Set(sound.map(spelled))]
}

function differs(one: PeerRow, other: PeerRow): boolean {
  const keys = [
    'name',
    'source',
    'public_key',
    'next_key',
    'former_key',
    'endpoint',
    'address',
    'node_id',
  ] as const
  if (one.removed_at_ms !== other.removed_at_ms || keys.some((key) => one[key] !== other[key])) return true
  return listOf(one.advertised).join() !== listOf(other.advertised).join()
}
