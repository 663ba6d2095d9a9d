import {
  type MeshMembership,
  nodeStateConflict,
  objectSchema,
  type Reply,
  type Request,
  type Route,
  route,
  southboundUnavailable,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import type { MeshClient } from '../agent/mesh-client.ts'
import { NODE_ID_SCHEMA } from '../shapes.ts'
import { joinCommand, ownUrl, refuseWithoutTls } from './invite-route.ts'
import type { MemberRecord } from './member-record.ts'
import { type EnrollParts, ownMeshName } from './parts.ts'
import { wordsOf } from './words.ts'

const TIMEOUT_MS = 10_000
/** Members that get an invitation at once; more are invited one by one. */
const MOST_INVITED = 200

/** What a member does about a root that has moved or is lost: `POST /v1/mesh/root-address`, `POST /v1/mesh/take-root`. */
export function lostRootRoutes(
  parts: EnrollParts,
  client: MeshClient,
  isRootAway: () => boolean,
): readonly Route[] {
  return [rootAddressRoute(parts, client), takeRootRoute(parts, isRootAway)]
}

function membershipOf({ identity }: EnrollParts): MeshMembership {
  const membership = identity.membership()
  if (membership === undefined)
    throw nodeStateConflict('this node is the root of its own mesh; ask this of a member')
  return membership
}

function rootAddressRoute(parts: EnrollParts, client: MeshClient): Route {
  return route<unknown, unknown, { readonly url: string }>({
    method: 'POST',
    path: '/v1/mesh/root-address',
    role: 'admin',
    summary: 'Tell this member where its root answers now',
    description:
      'Members find a root that has moved by themselves where it announces its address or its links hold. The node is asked ' +
      'there at once and must be the root by its certificate; otherwise nothing changes.',
    example: { url: 'https://192.0.2.101:8443' },
    schema: {
      body: objectSchema({ url: { type: 'string', pattern: '^https://[^/?#@\\s]{1,255}$' } }, ['url']),
      response: objectSchema({ root_url: { type: 'string' }, root_node_id: NODE_ID_SCHEMA }, [
        'root_url',
        'root_node_id',
      ]),
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
      if (now.rootNodeId !== rootNodeId) throw nodeStateConflict('this node has another root by now')
      await identity.adopt({ ...now, rootUrl: url })
      return await request.mutate(node.nodeId, async (tx) => {
        tx.audit({ detail: { root: url } })
        return { body: { root_url: url, root_node_id: rootNodeId } }
      })
    },
  })
}

function takeRootRoute(parts: EnrollParts, isRootAway: () => boolean): Route {
  return route<unknown, unknown, { readonly force?: boolean }>({
    method: 'POST',
    path: '/v1/mesh/take-root',
    role: 'admin',
    summary: 'Become the root in the place of one that is lost',
    description:
      'For a root that is lost without a backup. This member leaves its mesh and is the root of a new one, with its own CA; the ' +
      'answer has an invitation for each other member, which keeps its address and what was approved there. Refused while ' +
      'the root answers, unless force is given.',
    schema: {
      body: objectSchema({ force: { type: 'boolean', default: false } }),
      response: objectSchema(
        {
          mesh: objectSchema({ name: { type: 'string' } }, ['name']),
          url: { type: 'string' },
          ca_words: { type: 'string' },
          expires_at: {
            ...TIMESTAMP_SCHEMA,
            type: ['string', 'null'],
            description: 'Null without other members.',
          },
          invitations: {
            type: 'array',
            items: objectSchema(
              {
                node_id: NODE_ID_SCHEMA,
                name: { type: 'string' },
                command: { type: 'string', description: 'To be given on that box, once.' },
              },
              ['node_id', 'name', 'command'],
            ),
          },
        },
        ['mesh', 'url', 'ca_words', 'expires_at', 'invitations'],
      ),
      status: 201,
    },
    audit: 'mesh.take_root',
    errors: ['node_state_conflict'],
    handle: (request) => takeRoot(parts, request, isRootAway),
  })
}

async function takeRoot(
  parts: EnrollParts,
  request: Request<unknown, unknown, { readonly force?: boolean }>,
  isRootAway: () => boolean,
): Promise<Reply> {
  const { context, identity, membershipState, node, tokens, authority } = parts
  const before = membershipOf(parts)
  refuseWithoutTls(context)
  if (!isRootAway() && request.body.force !== true)
    throw nodeStateConflict(
      `the root answers at ${before.rootUrl}; with two roots a mesh falls apart. Once that one is gone for good, ask again or with force`,
    )
  const others = (membershipState.view()?.members ?? []).filter(
    ({ node_id, is_root }) => node_id !== node.nodeId && !is_root,
  )
  // The file first, and then the trail: killed between them it is the root, and invites the others one by one.
  await identity.forget()
  await membershipState.clear()
  return await request.mutate(node.nodeId, async (tx) => {
    const invite = async ({ node_id, name }: MemberRecord) => {
      const wanted = { name: `take-root ${name}`, nodeId: node_id }
      const { token, expiresAtMs } = await tokens.mint(tx, request.principal, wanted)
      return { expiresAtMs, shown: { node_id, name, command: joinCommand(token, ownUrl(parts), '--leave') } }
    }
    const made: Awaited<ReturnType<typeof invite>>[] = []
    for (const other of others.slice(0, MOST_INVITED)) made.push(await invite(other))
    tx.audit({ detail: { mesh: before.meshName, root: before.rootNodeId, invited: made.length } })
    tx.event({ type: 'mesh.take_root', subject: node.nodeId, data: { mesh: before.meshName } })
    const [first] = made
    const body = {
      mesh: { name: ownMeshName(parts) },
      url: ownUrl(parts),
      ca_words: wordsOf(authority.caSha256),
      expires_at: first === undefined ? null : timestampFromMs(first.expiresAtMs),
      invitations: made.map(({ shown }) => shown),
    }
    return { status: 201, body, sealed: true }
  })
}
