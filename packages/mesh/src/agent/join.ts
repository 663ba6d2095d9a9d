import { createHash, X509Certificate } from 'node:crypto'
import {
  clockJudgeRef,
  isServiceError,
  type Membership,
  nodeStateConflict,
  southboundUnavailable,
} from '@steeple/contracts'
import { requestOnce } from '@steeple/http-client'
import type { EnrollParts } from '../enroll/parts.ts'
import { strangeAddress } from '../peers/reserved-networks.ts'
import { enrolledFrom, refusal } from './answers.ts'
import { codeIn, fieldOf, isIllTimed, type MeshClient } from './mesh-client.ts'

const TIMEOUT_MS = 20_000
const CA_BYTES = 16_384
const TOKEN = /^svcb_([0-9a-f]{32})_[A-Za-z0-9_-]{43}$/

/** What an invitation says. */
export interface Invitation {
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
    const why = cause instanceof Error ? cause.message : String(cause)
    throw southboundUnavailable(`${url} does not answer: ${why}`, { cause })
  }
  const pem = fieldOf(parsedOrNone(text), 'ca_pem')
  let ca: X509Certificate | undefined
  try {
    ca = typeof pem === 'string' ? new X509Certificate(pem) : undefined
  } catch {
    ca = undefined
  }
  if (ca === undefined)
    throw nodeStateConflict(`${url} is not the root of a mesh: it shows no CA; check the address`)
  const sha256 = createHash('sha256').update(ca.raw).digest('hex')
  if (!sha256.startsWith(pinned))
    throw nodeStateConflict(
      `${url} is not the box that made this invitation: its CA is another one. Nothing was sent to it`,
    )
  return { caPem: ca.toString(), clockMs }
}

function parsedOrNone(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
