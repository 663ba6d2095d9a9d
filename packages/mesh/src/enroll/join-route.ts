import {
  type Membership,
  nodeStateConflict,
  objectSchema,
  type Request,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { askToJoin } from '../agent/join.ts'
import type { MeshClient } from '../agent/mesh-client.ts'
import { HOST_PORT_PATTERN, NODE_ID_SCHEMA, NODE_NAME_PATTERN } from '../shapes.ts'
import { ownAddress } from './own-address.ts'
import type { EnrollParts } from './parts.ts'
import { wordsOf } from './words.ts'

interface Body {
  readonly token: string
  readonly url: string
  readonly name?: string
  readonly address?: string
  readonly leave?: boolean
}

/** `POST /v1/mesh/join`: this node becomes a member of the mesh that an invitation is for. */
export function joinRoute(parts: EnrollParts, client: MeshClient): Route {
  return route<unknown, unknown, Body>({
    method: 'POST',
    path: '/v1/mesh/join',
    role: 'admin',
    summary: 'Join a mesh by an invitation',
    description:
      'This node checks the CA of the server against the token before it sends anything. The root certifies its key, ' +
      'and it is a member from then on: it serves TLS by the certificate of that mesh. Repeat the request after a lost ' +
      'answer; it continues.',
    example: { token: 'svcb_…', url: 'https://192.0.2.1:8443' },
    schema: {
      body: objectSchema(
        {
          token: { type: 'string', minLength: 1, maxLength: 256 },
          url: { type: 'string', minLength: 1, maxLength: 512 },
          name: { type: 'string', pattern: NODE_NAME_PATTERN },
          address: {
            type: 'string',
            pattern: HOST_PORT_PATTERN,
            description: 'Where the API of this node answers, for the other members.',
          },
          leave: {
            type: 'boolean',
            default: false,
            description:
              'Leave the present mesh after the new root has let this node in. The old root, which is lost, is not ' +
              'informed.',
          },
        },
        ['token', 'url'],
      ),
      response: recordSchema({
        mesh: recordSchema({ name: { type: 'string' }, root_node_id: NODE_ID_SCHEMA }),
        root_url: { type: 'string' },
        overlay_address: { type: 'string' },
        ca_sha256: { type: 'string' },
        ca_words: { type: 'string' },
        joined_at: TIMESTAMP_SCHEMA,
      }),
    },
    audit: 'mesh.join',
    errors: ['node_state_conflict', 'southbound_unavailable'],
    handle: (request) => join(parts, request, client),
  })
}

async function join(parts: EnrollParts, request: Request<unknown, unknown, Body>, client: MeshClient) {
  const { identity, node, membershipState } = parts
  refuseToJoin(parts, request.body.leave === true)
  const { token, url, name = node.name, address = ownAddress(parts.context) } = request.body
  const membership = await askToJoin(parts, client, { token, url, name, address }, request.signal)
  // The file first, and then the trail: killed between them the node is a member, and has an answer to ask for no more.
  await membershipState.clear()
  await identity.adopt(membership)
  return await request.mutate(node.nodeId, async (tx) => {
    tx.audit({ detail: { mesh: membership.meshName, root: membership.rootUrl } })
    tx.event({ type: 'mesh.join', subject: node.nodeId, data: { mesh: membership.meshName } })
    return { body: answer(parts, membership) }
  })
}

function answer({ membershipState }: EnrollParts, membership: Membership): object {
  const sha256 = membershipState.caSha256() ?? ''
  return {
    mesh: { name: membership.meshName, root_node_id: membership.rootNodeId },
    root_url: membership.rootUrl,
    overlay_address: membership.overlayAddress,
    ca_sha256: sha256,
    ca_words: wordsOf(sha256),
    joined_at: timestampFromMs(membership.joinedAtMs),
  }
}

function refuseToJoin({ context, identity, memberList }: EnrollParts, isLeaving: boolean): void {
  if (!context.config.enabled) throw nodeStateConflict('this node takes part in no mesh; set peering.enabled')
  const membership = identity.membership()
  if (membership !== undefined && !isLeaving)
    throw nodeStateConflict(
      `this node is a member of the mesh ${membership.meshName}; leave that first (svc node leave), or with the join where its root is lost (--leave)`,
    )
  if (memberList.members().length > 1)
    throw nodeStateConflict('this node is the root of a mesh with members; remove them first')
}
