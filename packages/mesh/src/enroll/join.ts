import { hash, X509Certificate } from 'node:crypto'
import {
  clockJudgeRef,
  isServiceError,
  jsonIn,
  type Membership,
  messageOf,
  NODE_ID_SCHEMA,
  nodeStateConflict,
  objectSchema,
  type Request,
  type Route,
  recordSchema,
  route,
  southboundUnavailable,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { requestOnce } from '@steeple/http-client'
import { enrolledFrom, refusal } from '../agent/answers.ts'
import { codeIn, fieldOf, isIllTimed, type MeshClient } from '../agent/mesh-client.ts'
import { strangeAddress } from '../peers/reserved-networks.ts'
import { HOST_PORT_PATTERN, NODE_NAME_PATTERN } from '../shapes.ts'
import { ownAddress } from './own-names.ts'
import { type EnrollParts, requireTakingPart } from './parts.ts'
import { wordsOf } from './words.ts'

const TIMEOUT_MS = 20_000
const CA_BYTES = 16_384
const TOKEN = /^svcb_([0-9a-f]{32})_[A-Za-z0-9_-]{43}$/

/** What an invitation says. */
interface Invitation {
  readonly token: string
  /** `https://host:port`, with the id of the root behind `#` where it is known. */
  readonly url: string
  /** Where the API of this node answers, `host:port`. */
  readonly address: string | undefined
  readonly name: string
}

/**
 * Asks the root of a mesh to let this node in, and gives what it answered. Nothing is changed here.
 *
 * The token goes out only over a connection whose certificate is below the CA that the token names (and, where the URL says
 * which node it is, of that one). The key never leaves the box. Asked again with the same token the root gives the same.
 *
 * Throws `node_state_conflict` for a server that is not of that mesh or that refuses, `southbound_unavailable` when there is
 * no answer.
 */
export async function askToJoin(
  parts: Pick<EnrollParts, 'identity' | 'node' | 'context'>,
  client: MeshClient,
  invitation: Invitation,
  signal: AbortSignal,
): Promise<Membership> {
  const { identity, node, context } = parts
  const pinned = TOKEN.exec(invitation.token)?.[1]
  if (pinned === undefined) throw nodeStateConflict('the token is no invitation (svcb_…); copy it as a whole')
  const { url, rootNodeId } = rootFrom(invitation.url)
  const { caPem, clockMs } = await pinnedCa(url, pinned, signal)
  const asking = client.call({
    url,
    method: 'POST',
    path: `/v1/nodes/${node.nodeId}/enroll`,
    body: {
      csr_pem: await identity.request(),
      name: invitation.name,
      ...(invitation.address === undefined ? {} : { address: invitation.address }),
    },
    headers: { authorization: `Bearer ${invitation.token}` },
    caPem,
    nodeId: rootNodeId,
    isAnonymous: true,
    timeoutMs: TIMEOUT_MS,
    signal,
  })
  const answer = await asking.catch((cause: unknown) => {
    throw isIllTimed(cause) ? nodeStateConflict(clockText(context, url, clockMs), { cause }) : cause
  })
  if (answer.status >= 400 && answer.status < 500 && codeIn(answer.body) !== '') {
    throw nodeStateConflict(`the root lets this node not in: ${refusal(answer).message}`)
  }
  const enrolled = enrolledFrom(answer)
  if (rootNodeId !== undefined && enrolled.rootNodeId !== rootNodeId)
    throw nodeStateConflict('the server says that another node is the root of the mesh')
  const strange = strangeAddress({ context })(enrolled.overlayAddress)
  if (strange !== undefined)
    throw nodeStateConflict(
      `the root gives this node the address ${enrolled.overlayAddress}, which ${strange}; then join again`,
    )
  return {
    meshName: enrolled.meshName,
    rootUrl: url,
    rootNodeId: enrolled.rootNodeId,
    // The one that was compared with the token, whatever the answer says.
    caPem,
    certificatePem: enrolled.certificatePem,
    overlayAddress: enrolled.overlayAddress,
    joinedAtMs: context.clock.nowMs(),
  }
}

function rootFrom(text: string): { readonly url: string; readonly rootNodeId: string | undefined } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.protocol !== 'https:' || url.username !== '' || url.search !== '')
    throw nodeStateConflict('the address of the root is https://host:port; copy it from the invitation')
  const id = url.hash.slice(1)
  return { url: url.origin, rootNodeId: id === '' ? undefined : id }
}

/** Whose clock is to be looked at where a certificate of the other box is not good by this one's. */
function clockText(
  { clock, maybe }: Pick<EnrollParts['context'], 'clock' | 'maybe'>,
  url: string,
  theirsMs: number,
): string {
  const view = maybe(clockJudgeRef)?.view()
  const oursMs = view?.machineMs ?? clock.nowMs()
  const apart = Number.isNaN(theirsMs) ? '' : `, that of ${url} says ${new Date(theirsMs).toISOString()}`
  const doubt = view?.doubt === undefined ? '' : ` This box does not believe its own: ${view.doubt}.`
  return `the clocks of the two boxes do not agree: that of this machine says ${new Date(oursMs).toISOString()}${apart}.${doubt} Set the wrong one right (svc clock show, on both), then join again`
}

/**
 * The CA that the server shows, when it is the one that the token names, and what its clock says. The connection is believed in
 * nothing else.
 */
async function pinnedCa(
  url: string,
  pinned: string,
  signal: AbortSignal,
): Promise<{ readonly caPem: string; readonly clockMs: number }> {
  let text: string
  let clockMs: number
  try {
    const answer = await requestOnce(
      // Whoever answers is believed: what comes is compared with the token.
      { maxBytes: CA_BYTES, connect: { rejectUnauthorized: false } },
      { method: 'GET', url: new URL('/v1/mesh/ca', url) },
      AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    )
    text = answer.text
    clockMs = Date.parse(answer.headers.date ?? '')
  } catch (cause) {
    if (isServiceError(cause)) throw cause
    throw southboundUnavailable(`${url} does not answer: ${messageOf(cause)}`, { cause })
  }
  const pem = fieldOf(jsonIn(text), 'ca_pem')
  let ca: X509Certificate | undefined
  try {
    ca = typeof pem === 'string' ? new X509Certificate(pem) : undefined
  } catch {
    ca = undefined
  }
  if (ca === undefined)
    throw nodeStateConflict(`${url} is not the root of a mesh: it shows no CA; check the address`)
  if (!hash('sha256', ca.raw).startsWith(pinned))
    throw nodeStateConflict(
      `${url} is not the box that made this invitation: its CA is another one. Nothing was sent to it`,
    )
  return { caPem: ca.toString(), clockMs }
}

interface JoinBody {
  readonly token: string
  readonly url: string
  readonly name?: string
  readonly address?: string
  readonly leave?: boolean
}

/** `POST /v1/mesh/join`: this node becomes a member of the mesh that an invitation is for. */
export function joinRoute(parts: EnrollParts, client: MeshClient): Route {
  return route<unknown, unknown, JoinBody>({
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

async function join(parts: EnrollParts, request: Request<unknown, unknown, JoinBody>, client: MeshClient) {
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
  requireTakingPart(context)
  const membership = identity.membership()
  if (membership !== undefined && !isLeaving)
    throw nodeStateConflict(
      `this node is a member of the mesh ${membership.meshName}; leave that first (svc node leave), or with the join where its root is lost (--leave)`,
    )
  if (memberList.members().length > 1)
    throw nodeStateConflict('this node is the root of a mesh with members; remove them first')
}
