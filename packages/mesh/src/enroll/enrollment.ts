import {
  bootstrapTokensRef,
  boxCallsRef,
  type CertificateHolders,
  type ClientCertificate,
  type Context,
  certificateRevoked,
  expandRoles,
  forbidden,
  type Instance,
  NODE_ID_SCHEMA,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeCaRef,
  nodeCertificatesRef,
  nodeCredentialsRef,
  nodeIdentityRef,
  nodeNotFound,
  nodeRegistryRef,
  nodeStateConflict,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  southboundUnavailable,
  timestampFromMs,
} from '@steeple/contracts'
import { type MeshAgent, meshAgent } from '../agent/agent.ts'
import { memberCalls } from '../agent/box-calls.ts'
import { type MeshClient, meshClient } from '../agent/mesh-client.ts'
import type { PeeringConfig } from '../config.ts'
import type { Members } from '../members.ts'
import { isIn } from '../peers/cidr.ts'
import { enrollRoute } from './enroll-route.ts'
import { inviteRoute, takeRootRoute } from './invite-route.ts'
import { joinRoute } from './join.ts'
import { GRACE_MS, type KnownCertificate, openMemberList } from './member-list.ts'
import { type MemberRecord, memberFrom, rootView } from './member-record.ts'
import { membersRoutes } from './members-routes.ts'
import { memberOf, openMembershipState } from './membership-state.ts'
import { announcedUrl } from './own-names.ts'
import { type EnrollParts, membershipOf } from './parts.ts'
import { renewRoutes } from './renew-routes.ts'
import { revocationList } from './revocation-list.ts'
import { simSearchRoutes } from './sim-search.ts'
import { CERTIFICATES, forgetCertificates, MEMBERS } from './store.ts'

const TIMEOUT_MS = 10_000

function rootAddressRoute(parts: EnrollParts, client: MeshClient): Route {
  return route<unknown, unknown, { readonly url: string }>({
    method: 'POST',
    path: '/v1/mesh/root-address',
    role: 'admin',
    summary: 'Set the address of the root on this member',
    description:
      'Members find a moved root by themselves when it announces its address or its links hold. This node asks that ' +
      'address at once; its certificate must be that of the root. Otherwise nothing changes.',
    example: { url: 'https://192.0.2.101:8443' },
    schema: {
      body: recordSchema({ url: { type: 'string', pattern: '^https://[^/?#@\\s]{1,255}$' } }),
      response: recordSchema({ root_url: { type: 'string' }, root_node_id: NODE_ID_SCHEMA }),
    },
    audit: 'mesh.root_address',
    errors: ['node_state_conflict', 'southbound_unavailable'],
    handle: async (request) => {
      const { identity, node } = parts
      const { caPem, rootNodeId } = membershipOf(parts)
      const url = new URL(request.body.url).origin
      const { status } = await client.call({
        ...{ url, method: 'GET', path: '/v1/mesh/ca', caPem, nodeId: rootNodeId, isAnonymous: true },
        ...{ timeoutMs: TIMEOUT_MS, signal: request.signal },
      })
      if (status !== 200) throw southboundUnavailable(`${url} answered ${status}`)
      const now = membershipOf(parts)
      if (now.rootNodeId !== rootNodeId)
        throw nodeStateConflict('this node has another root now; repeat the change')
      await identity.adopt({ ...now, rootUrl: url })
      return await request.mutate(node.nodeId, async (tx) => {
        tx.audit({ detail: { root: url } })
        return { body: { root_url: url, root_node_id: rootNodeId } }
      })
    },
  })
}

const NODE = expandRoles(['node'])

/** The member that a certificate stands for. */
type Found = { readonly name: string } | undefined

/**
 * Says which node a client certificate stands for, from memory where no other instance changes the same store.
 *
 * At the root only certificates that it has recorded; elsewhere those of the mesh's CA that are on no list that this node
 * has heard of. This node's own certificate stands for itself. Throws `certificate_revoked`.
 */
export function nodeCertificates(parts: EnrollParts): CertificateHolders {
  const { context, identity } = parts
  return {
    holderOf: async (certificate) => {
      if (!context.config.enabled) return undefined
      const holder =
        identity.membership() === undefined
          ? await memberHere(parts, certificate)
          : memberElsewhere(parts, certificate)
      if (holder === undefined) return undefined
      const { name: id, notAfterMs } = certificate
      return { kind: 'node', id, name: holder.name, roles: NODE, expiresAtMs: notAfterMs }
    },
  }
}

/** From memory, unless another instance on the same store may have issued or revoked it. */
async function memberHere(parts: EnrollParts, certificate: ClientCertificate): Promise<Found> {
  const { authority, context, node, memberList } = parts
  const { serial, name, caSha256 } = certificate
  if (caSha256 !== authority.caSha256) return undefined
  if (name === node.nodeId) return node
  if (context.db.dialect === 'sqlite') return memberBy(memberList.certificate(serial), parts, name)
  const row = await CERTIFICATES.find(context.db, { serial })
  return memberBy(row && { nodeId: row.node_id, isRevoked: row.revoked_at_ms !== null }, parts, name)
}

function memberBy(known: KnownCertificate | undefined, { memberList }: EnrollParts, name: string): Found {
  if (known === undefined || known.nodeId !== name) return undefined
  if (known.isRevoked) throw certificateRevoked()
  return { name: memberList.member(name)?.name ?? name }
}

function memberElsewhere(
  { membershipState }: EnrollParts,
  { serial, name, caSha256 }: ClientCertificate,
): Found {
  if (caSha256 !== membershipState.caSha256()) return undefined
  if (membershipState.isRevoked(serial)) throw certificateRevoked()
  return { name: memberOf(membershipState.view(), name)?.name ?? name }
}

const SWEEP_MS = 86_400_000
/** How often an instance looks for what another one on the same store has let in or put out. */
const FOLLOW_MS = 2_000

/** Who belongs to the mesh: enrollment, certificates, revocation, heartbeats. */
export async function enrollment(
  context: Context<PeeringConfig>,
): Promise<{ readonly part: Instance; readonly members: Members }> {
  const parts = await partsOf(context)
  const client = meshClient(parts.identity)
  context.defer(() => client.close())
  const agent = meshAgent(parts, client)
  const members = meshMembers(parts, agent)
  const calls = memberCalls(parts, client, () => membersIn(parts))
  const part: Instance = {
    routes: [
      enrollRoute(parts),
      ...renewRoutes(parts),
      leaveRoute(parts, agent.leave),
      ...membersRoutes(parts),
      inviteRoute(parts),
      rootAddressRoute(parts, client),
      takeRootRoute(parts, agent.isRootAway),
      joinRoute(parts, client),
      ...simSearchRoutes(parts, calls),
    ],
    services: new Map<string, object>([
      [nodeCertificatesRef.id, nodeCertificates(parts)],
      [boxCallsRef.id, calls],
    ]),
    start: async () => {
      context.defer(members.onChange(() => context.changed(boxCallsRef)))
      agent.start()
      if (context.db.dialect !== 'sqlite') context.every(FOLLOW_MS, () => parts.memberList.follow(), 'each')
      context.every(
        SWEEP_MS,
        async () => {
          const beforeMs = context.clock.nowMs() - GRACE_MS
          if (context.clock.doubt?.() === undefined)
            await context.db.write((tx) => forgetCertificates(tx, beforeMs))
        },
        'each',
      )
    },
    health: async () => [agent.health()],
  }
  return { part, members }
}

async function partsOf(context: Context<PeeringConfig>): Promise<EnrollParts> {
  const { db, clock, config } = context
  const authority = context.use(nodeCaRef)
  const identity = context.use(nodeCredentialsRef)
  const node = context.use(nodeIdentityRef)
  const memberList = await openMemberList({ db, clock, subnet: config.subnet, own: node })
  return {
    context,
    authority,
    identity,
    node,
    tokens: context.use(bootstrapTokensRef),
    nodes: context.use(nodeRegistryRef),
    memberList,
    revocations: revocationList({
      db,
      clock,
      authority,
      changes: memberList.changes,
      url: () => announcedUrl(context),
    }),
    membershipState: await openMembershipState(db, identity),
  }
}

/** Its root may not have been heard since: the signed list says it, whoever has passed that on. */
function isOut({ identity, membershipState }: EnrollParts, { serials = [] }: MemberRecord): boolean {
  return identity.membership() !== undefined && serials.length > 0 && serials.every(membershipState.isRevoked)
}

/** Who is a member, as far as this node knows; undefined before it has heard of any. */
function membersIn(parts: EnrollParts): readonly MemberRecord[] | undefined {
  const { context, identity, membershipState } = parts
  if (!context.config.enabled) return []
  const view = identity.membership() === undefined ? rootView(parts) : membershipState.view()
  return view?.members.filter((record) => !isOut(parts, record))
}

/** The members as the other parts of the plugin see them, at the root and elsewhere. */
export function meshMembers(parts: EnrollParts, agent: Pick<MeshAgent, 'publish'>): Members {
  const { context, identity, node, memberList, membershipState } = parts
  return {
    overlay: () => {
      const membership = identity.membership()
      if (membership !== undefined) {
        // The address is known at once; the network with the first answer of the root.
        const told = membershipState.view()?.subnet
        const { overlayAddress: address } = membership
        // The operator's word on the network goes before the root's.
        return told === undefined
          ? undefined
          : { address, subnet: isIn(context.config.subnet, address) ? context.config.subnet : told }
      }
      const own = memberList.member(node.nodeId)
      if (own === undefined || !memberList.hadMembers) return undefined
      return { address: own.overlay_address, subnet: context.config.subnet }
    },
    list: () => (membersIn(parts) ?? []).map((record) => memberFrom(record, node.nodeId)),
    hasPutOut: (nodeId) => {
      if (identity.membership() === undefined) return (memberList.member(nodeId)?.left_at_ms ?? null) !== null
      const known = membershipState.view()
      const record = memberOf(known, nodeId)
      return known !== undefined && (record === undefined || isOut(parts, record))
    },
    isRevoked: (serial) =>
      identity.membership() === undefined
        ? (memberList.certificate(serial)?.isRevoked ?? false)
        : membershipState.isRevoked(serial),
    publish: async (wireguard) => {
      // The root's own is kept at once; in the mesh of another one it is sent there.
      await context.db.write(async (tx) => {
        const own = await MEMBERS.find(tx, { node_id: node.nodeId })
        const text = JSON.stringify(wireguard)
        if (own !== undefined && own.wireguard !== text)
          await memberList.change(tx, { ...own, wireguard: text })
      })
      await agent.publish(wireguard)
    },
    onChange: (listener) => {
      const stops = [
        memberList.changes.listen(listener),
        membershipState.changes.listen(listener),
        identity.onChange(listener),
      ]
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}

type Params = { readonly id: string }

/** Takes this node out of the mesh that it is a member of; says whether the root has heard of it. */
type LeaveMesh = (signal: AbortSignal) => Promise<{ readonly isRootTold: boolean }>

/** `POST /v1/nodes/{id}/leave`: at the root a member goes or is removed; at a member, with its own id, it goes. */
function leaveRoute(parts: EnrollParts, leaveMesh: LeaveMesh): Route {
  return route<Params, unknown, unknown>({
    method: 'POST',
    path: '/v1/nodes/:id/leave',
    role: 'admin',
    nodeToo: true,
    summary: 'Take a node out of the mesh',
    description:
      'At the root: all certificates of the node are revoked at once, its peers are removed, and its state is provision ' +
      'again. Its address in the mesh stays reserved for it. At a member, with its own id: it tells the root and ' +
      'leaves.',
    schema: {
      params: recordSchema({ id: NODE_ID_SCHEMA }),
      response: recordSchema({
        node_id: NODE_ID_SCHEMA,
        left: { type: 'boolean' },
        left_at: NULLABLE_TIMESTAMP_SCHEMA,
        root_told: {
          type: 'boolean',
          description: 'false: the root could not be reached; remove the node there too.',
        },
      }),
    },
    audit: 'node.leave',
    errors: ['node_not_found', 'node_state_conflict'],
    handle: async (request) => {
      const { id } = request.params
      const { principal } = request
      if (principal.kind === 'node' && principal.id !== id) throw forbidden('admin, or node for its own id')
      return await (id === parts.node.nodeId
        ? leaveHere(parts, request, leaveMesh)
        : remove(parts, request, id))
    },
  })
}

async function remove(parts: EnrollParts, request: Request<Params>, id: string): Promise<Reply> {
  const { memberList, nodes, identity } = parts
  if (identity.membership() !== undefined)
    throw nodeStateConflict('only the root of the mesh can remove a node; ask it there')
  if (memberList.member(id) === undefined) throw nodeNotFound(id)
  return await request.mutate(id, async (tx) => {
    const row = await MEMBERS.find(tx, { node_id: id })
    if (row === undefined) throw nodeNotFound(id)
    if (row.left_at_ms !== null) return { body: answer(id, row.left_at_ms) }
    const revoked = await memberList.expel(tx, row)
    await nodes.left(tx, id)
    const isOwnWish = request.principal.kind === 'node'
    tx.audit({ detail: { name: row.name, revoked: revoked.length, is_own_wish: isOwnWish } })
    tx.event({ type: 'node.leave', subject: id, data: { name: row.name } })
    return { body: answer(id, parts.context.clock.nowMs()) }
  })
}

async function leaveHere(parts: EnrollParts, request: Request<Params>, leaveMesh: LeaveMesh): Promise<Reply> {
  const { node, identity, context } = parts
  const membership = identity.membership()
  if (membership === undefined)
    throw nodeStateConflict('this node is the root of its own mesh; it cannot leave it')
  const { isRootTold } = await leaveMesh(request.signal)
  return await request.mutate(node.nodeId, async (tx) => {
    tx.audit({ detail: { mesh: membership.meshName, root_told: isRootTold } })
    return { body: answer(node.nodeId, context.clock.nowMs(), isRootTold) }
  })
}

function answer(id: string, leftAtMs: number, isRootTold = true): object {
  return { node_id: id, left: true, left_at: timestampFromMs(leftAtMs), root_told: isRootTold }
}
