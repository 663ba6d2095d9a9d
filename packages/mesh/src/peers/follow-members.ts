import { randomBytes } from 'node:crypto'
import { systemPrincipal } from '@steeple/contracts'
import type { Member, PublishedWireguard } from '../members.ts'
import { isKey } from '../wireguard/keys.ts'
import { parseCidr } from './cidr.ts'
import { endpointText, parseHostPort } from './endpoint.ts'
import { spelled } from './grounds.ts'
import { KEEPALIVE_S, KEY_RESOURCE, type PeersParts } from './parts.ts'
import { allPeers, listOf, PEERS, type PeerRow } from './peer-store.ts'

/** Routes of one member that are looked at. */
const MAX_ROUTES = 64

/** What becomes of a row so that it says what the list of members does. */
export interface MemberChange {
  readonly action: 'peer.join' | 'peer.follow' | 'peer.leave'
  readonly row: PeerRow
}

/** A new id of a peer. */
export function newPeerId(): string {
  return `p-${randomBytes(8).toString('hex')}`
}

/** Members are peers of one another by themselves. */
export async function adoptMembers(parts: PeersParts): Promise<void> {
  const { context, members } = parts
  const rows = await allPeers(context.db)
  for (const { action, row } of memberChanges(rows, members.list(), context.clock.nowMs())) {
    await context.mutate(systemPrincipal('mesh'), action, row.id, async (tx) => {
      await PEERS.put(tx, row)
      tx.audit({ detail: { name: row.name, node_id: row.node_id, public_key: row.public_key } })
      tx.event({ type: action, subject: row.id, data: { name: row.name } })
      if (row.next_key !== null) tx.dirty(KEY_RESOURCE, row.id)
    })
  }
}

/** The changes that make the rows follow the members. Pure but for the ids of new ones. */
export function memberChanges(
  rows: readonly PeerRow[],
  members: readonly Member[],
  nowMs: number,
): readonly MemberChange[] {
  const names = new Set(rows.filter(({ removed_at_ms }) => removed_at_ms === null).map(({ name }) => name))
  const changes: MemberChange[] = []
  for (const member of members) {
    const change = followed(rows, member, { nowMs, names })
    if (change === undefined) continue
    names.add(change.row.name)
    changes.push(change)
  }
  return [...changes, ...departed(rows, members, nowMs)]
}

interface FollowTerms {
  readonly nowMs: number
  /** Names that are in use. */
  readonly names: ReadonlySet<string>
}

function followed(
  rows: readonly PeerRow[],
  { isSelf, wireguard, ...member }: Member,
  terms: FollowTerms,
): MemberChange | undefined {
  if (isSelf || wireguard === undefined || !isKey(wireguard.publicKey)) return undefined
  const before =
    rows.find(({ node_id }) => node_id === member.nodeId) ??
    rows.find(({ public_key }) => public_key === wireguard.publicKey)
  if (before?.removed_by === 'operator') return undefined
  const taken = rows.filter(({ id }) => id !== before?.id).map(({ public_key }) => public_key)
  if (taken.includes(wireguard.publicKey)) return undefined
  const row: PeerRow = {
    ...(before ?? newRow(terms.nowMs)),
    ...keysOf(before, wireguard, taken),
    name: nameOf(before, member, terms.names),
    source: 'mesh',
    endpoint: endpointOf(wireguard) ?? before?.endpoint ?? null,
    address: member.overlayAddress,
    advertised: JSON.stringify(soundRoutes(wireguard.advertised)),
    // A key is no secret, and nobody has proved it: what was approved of a peer is not of whoever says to be that peer.
    approved: before === undefined || before.node_id !== member.nodeId ? '[]' : before.approved,
    node_id: member.nodeId,
    removed_at_ms: null,
    removed_by: null,
  }
  if (before === undefined) return { action: 'peer.join', row }
  if (!differs(before, row)) return undefined
  return { action: 'peer.follow', row: { ...row, changed_at_ms: terms.nowMs } }
}

function departed(
  rows: readonly PeerRow[],
  members: readonly Member[],
  nowMs: number,
): readonly MemberChange[] {
  const present = new Set(members.map(({ nodeId }) => nodeId))
  return rows
    .filter(({ source, removed_at_ms }) => source === 'mesh' && removed_at_ms === null)
    .filter(({ node_id }) => node_id === null || !present.has(node_id))
    .map((row) => ({
      action: 'peer.leave',
      row: { ...row, removed_at_ms: nowMs, removed_by: 'mesh', approved: '[]', changed_at_ms: nowMs },
    }))
}

/** What of a row its member does not say. */
function newRow(nowMs: number): Omit<PeerRow, 'name' | 'source' | 'public_key' | 'advertised'> {
  return {
    id: newPeerId(),
    next_key: null,
    former_key: null,
    psk_sealed: null,
    endpoint: null,
    keepalive_s: KEEPALIVE_S,
    address: null,
    approved: '[]',
    node_id: null,
    fingerprint: null,
    removed_at_ms: null,
    removed_by: null,
    created_at_ms: nowMs,
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
  { publicKey, nextPublicKey }: PublishedWireguard,
  taken: readonly string[],
): Pick<PeerRow, 'public_key' | 'next_key' | 'former_key'> {
  const isNew = before !== undefined && before.public_key !== publicKey
  // Its packets came under the next key already, and the list is from before.
  if (isNew && before.former_key === publicKey && nextPublicKey === before.public_key) return before
  const isSound = nextPublicKey !== undefined && isKey(nextPublicKey) && !taken.includes(nextPublicKey)
  return {
    public_key: publicKey,
    next_key: isSound ? nextPublicKey : null,
    former_key: isNew ? before.public_key : (before?.former_key ?? null),
  }
}

function endpointOf({ endpoint }: PublishedWireguard): string | undefined {
  const parsed = endpoint === undefined ? undefined : parseHostPort(endpoint)
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
