import { type Context, systemPrincipal } from '@steeple/contracts'
import type { ApproveRule, PeeringConfig } from '../config.ts'
import { contains, parseCidr } from './cidr.ts'
import { parseEndpoint } from './endpoint.ts'
import type { PeersParts } from './parts.ts'
import { allPeers, listOf, PEERS, type PeerRow, peerById } from './peer-store.ts'
import { isAdvertisingAllowed, peerNetworks, reservedNetworks, routeProblems } from './reserved-networks.ts'

/**
 * Approves what members offer where a rule of `peering.approve` lets it in. What runs into anything else, a route of another box too,
 * waits for somebody: the policy allows that to an operator who has seen it, and not to a rule.
 */
export async function approveByRule(parts: PeersParts): Promise<void> {
  const { context } = parts
  const { approve: rules } = context.config
  if (rules.length === 0 || !isAdvertisingAllowed(parts)) return
  // Of two that offer the same the older one is given it.
  const rows = (await allPeers(context.db)).toSorted(
    (one, other) => one.created_at_ms - other.created_at_ms || one.name.localeCompare(other.name),
  )
  for (const { id, name } of rows.filter((row) => ruled(rules, row).length > 0)) {
    // Each with what those before it were given.
    const now = await allPeers(context.db)
    const row = now.find((one) => one.id === id)
    if (row === undefined) continue
    const routes = soundOf(parts, row, now, ruled(rules, row))
    if (routes.length > 0) await approve(context, row, routes)
    else context.log.debug({ peer: name }, 'routes that a rule approves run into others')
  }
}

async function approve(
  context: Context<PeeringConfig>,
  { id, name, advertised, approved }: PeerRow,
  routes: readonly string[],
): Promise<void> {
  await context.mutate(systemPrincipal('mesh'), 'peer.approve', id, async (tx) => {
    const row = await peerById(tx, id)
    // Somebody has changed it meanwhile; the next look sees how it is.
    if (row === undefined || row.advertised !== advertised || row.approved !== approved) return
    const all = [...listOf(approved), ...routes]
    await PEERS.put(tx, { ...row, approved: JSON.stringify(all), changed_at_ms: context.clock.nowMs() })
    tx.audit({ detail: { name, routes: all, by: 'peering.approve' } })
    tx.event({ type: 'peer.approve', subject: id, data: { name, routes: all } })
  })
}

/** What a member offers, a rule approves and nobody has approved yet. */
function ruled(rules: readonly ApproveRule[], row: PeerRow): readonly string[] {
  if (row.source !== 'mesh' || row.removed_at_ms !== null) return []
  const approved = listOf(row.approved)
  const own = rules.filter(({ boxes }) => isNamed(boxes, row.name))
  return listOf(row.advertised).filter(
    (text) => !approved.includes(text) && own.some(({ within }) => isWithin(text, within)),
  )
}

/** `village-*` names all that begin so. */
function isNamed(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

function isWithin(text: string, within: string): boolean {
  const [network, whole] = [parseCidr(text), parseCidr(within)]
  return network !== undefined && whole !== undefined && contains(whole, network)
}

/** Those that run into nothing; of the way to the internet there may be several. */
function soundOf(
  parts: PeersParts,
  row: PeerRow,
  rows: readonly PeerRow[],
  routes: readonly string[],
): readonly string[] {
  const reserved = [...reservedNetworks(parts), ...peerNetworks(rows, row.id)].filter(
    ({ cidr }) => cidr.prefix > 0,
  )
  const host = row.endpoint === null ? undefined : parseEndpoint(row.endpoint)?.host
  return routes.filter((text) => text === '0.0.0.0/0' || routeProblems([text], reserved, host).length === 0)
}
