import { hash } from 'node:crypto'
import {
  bootstrapTokenInvalid,
  type Context,
  createRefusalTrail,
  forbidden,
  isServiceError,
  type JsonSchema,
  type MutationTx,
  NODE_ID_SCHEMA,
  nodeStateConflict,
  nodeUri,
  objectSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  systemPrincipal,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { CERTIFICATE_LIFE_MS, HOST_PORT_PATTERN, NODE_NAME_PATTERN, PEM_SCHEMA } from '../shapes.ts'
import {
  certifiedAddresses,
  localNameIn,
  localNameOf,
  machineAddresses,
  ownNames,
  targetOf,
} from './own-names.ts'
import { type EnrollParts, ownMeshName, requireRoot } from './parts.ts'
import { allMembers, type CertificateRow, MEMBERS, type MemberRow, newestCertificate } from './store.ts'

const MINUTE_MS = 60_000
/** Refusals of one minute that have an audit entry of their own; the others share one. */
const MOST_AUDITED = 10

/** Audits what is refused, in bounds: neither a stranger nor somebody with a token must be able to fill the trail. */
interface Refusals {
  /** Audits the refusal of a request and throws the error. Not for a request that has mutated. */
  refuse(request: Request<never, never, never>, target: string, error: unknown): Promise<never>
  /** The same of a request that the edge refuses; it throws the error itself. */
  note(request: Request<never, never, never>, target: string, error: unknown): Promise<void>
}

/** Makes one; `at`: of which route. The sum is written each minute in which there is one. */
export function createRefusals(context: Context, at: 'enroll' | 'renew'): Refusals {
  const trail = createRefusalTrail(context.clock, {
    mostPerMinute: MOST_AUDITED,
    writeSum: (refused) =>
      context.mutate(systemPrincipal('mesh'), 'node.enroll.refuse', 'mesh', async (tx) => {
        tx.audit({ detail: { refused, at } })
      }),
  })
  context.every(MINUTE_MS, () => trail.flush(), 'each')
  const refuse: Refusals['refuse'] = async (request, target, error) => {
    // What is no answer is a fault of this service, and in its log.
    if (!isServiceError(error)) throw error
    return await trail.refuse(request, { target, detail: detailOf(error), error })
  }
  return {
    refuse,
    note: (request, target, error) =>
      refuse(request, target, error).catch((thrown: unknown) => {
        if (thrown !== error) throw thrown
      }),
  }
}

/** What was asked for. Words of this service alone: what stands in a body by mistake must not get into the trail. */
function detailOf({ details }: { readonly details?: unknown }): Readonly<Record<string, unknown>> {
  const [first] = Array.isArray(details) ? details : []
  return first?.pointer === '/csr_pem' ? { reason: String(first.message) } : {}
}

/** A request has some 500 octets. More than the field takes is still heard and refused with an entry in the trail. */
const BODY_LIMIT = 65_536

interface Body {
  readonly csr_pem: string
  readonly name: string
  readonly address?: string
}

const BODY = objectSchema(
  {
    csr_pem: {
      type: 'string',
      description:
        'PKCS#10, ECDSA P-256, at most 4 KiB. Its subject is ignored. A request to be a CA, or for the name of another ' +
        'node, is refused.',
    },
    name: { type: 'string', pattern: NODE_NAME_PATTERN },
    address: {
      type: 'string',
      pattern: HOST_PORT_PATTERN,
      description: 'Where the API of the node answers, host:port.',
    },
  },
  ['csr_pem', 'name'],
)

/** The answer of an enrollment or a renewal. */
export const ENROLLED_SCHEMA: JsonSchema = recordSchema({
  node_id: NODE_ID_SCHEMA,
  certificate_pem: PEM_SCHEMA,
  ca_pem: PEM_SCHEMA,
  expires_at: TIMESTAMP_SCHEMA,
  mesh: recordSchema({ name: { type: 'string' }, root_node_id: NODE_ID_SCHEMA }),
  overlay_address: { type: 'string', description: 'IPv4 address of the node in the mesh, for good.' },
})

/** `POST /v1/nodes/{id}/enroll`: with a bootstrap token to join, with the node's certificate to renew it. */
export function enrollRoute(parts: EnrollParts): Route {
  const refusals = createRefusals(parts.context, 'enroll')
  return route<{ readonly id: string }, unknown, Body>({
    method: 'POST',
    path: '/v1/nodes/:id/enroll',
    role: 'bootstrap',
    nodeToo: true,
    summary: 'Let a node into the mesh, or renew its certificate',
    description:
      'With a bootstrap token the node gets a certificate of 30 days and its address in the mesh; the token is used up. ' +
      'The same node with the same key gets the same answer again while the token lasts. With its own certificate the ' +
      'node gets a new one after half of its life, and the same one before that. A node that was a member before is ' +
      'known by its key and gets its old address.',
    example: { csr_pem: '-----BEGIN CERTIFICATE REQUEST-----…', name: 'mast on the hill' },
    schema: {
      params: recordSchema({ id: NODE_ID_SCHEMA }),
      body: BODY,
      response: ENROLLED_SCHEMA,
    },
    bodyLimit: BODY_LIMIT,
    audit: 'node.enroll',
    errors: ['bootstrap_token_invalid', 'node_state_conflict', 'capacity_exceeded', 'certificate_revoked'],
    onRefused: (request, error) => refusals.note(request, targetOf(request.params), error),
    handle: async (request) => {
      const { id } = request.params
      try {
        return await (request.principal.kind === 'node'
          ? renewed(parts, request, id)
          : enrolled(parts, request, id))
      } catch (error) {
        if (error instanceof Mutated) throw error.cause
        return await refusals.refuse(request as never, id, error)
      }
    },
  })
}

/** What was thrown inside the mutation, which has audited it; the `cause` is the answer. */
export class Mutated extends Error {}

type EnrollRequest = Request<{ readonly id: string }, unknown, Body>

async function enrolled(parts: EnrollParts, request: EnrollRequest, id: string): Promise<Reply> {
  const { tokens, authority, memberList } = parts
  const { body } = request
  const token = (request.header('authorization') ?? '').replace(/^Bearer +/i, '')
  const { isUsed } = await tokens.check(token, id)
  refuseUnlessRoot(parts, id)
  const { name, address } = body
  const key = await authority.readRequest(
    body.csr_pem,
    ownNames({ id, name, address, peerAddress: request.peerAddress }),
  )
  const keySha256 = keyDigest(key)
  const wanted = { id, name: body.name, address: body.address ?? null, keySha256 }
  refuseOtherKey(memberList.member(id), keySha256)
  if (isUsed) return await repeated(parts, request, wanted)
  const nowMs = parts.context.clock.nowMs()
  const localName = localNameOf(wanted, await allMembers(parts.context.db), nowMs)
  const addresses = [request.peerAddress]
  const nameless = await issue(parts, id, key, { addresses, localName: undefined })
  const named = localName === undefined ? nameless : await issue(parts, id, key, { addresses, localName })
  return await mutate(request, id, async (tx) => {
    const before = await MEMBERS.find(tx, { node_id: id })
    refuseOtherKey(before, keySha256)
    // Another of that name may have been let in meanwhile.
    const isFree = localName === localNameOf(wanted, await allMembers(tx), nowMs)
    const certificate = isFree ? named : nameless
    await tokens.burn(tx, token, id)
    const row = await memberList.admit(tx, {
      nodeId: id,
      name: wanted.name,
      keySha256,
      address: wanted.address,
      certificate,
    })
    await parts.nodes.enrolled(tx, {
      nodeId: id,
      name: row.name,
      certificateExpiresAtMs: certificate.expires_at_ms,
    })
    const detail = { name: row.name, overlay_address: row.overlay_address, serial: certificate.serial }
    tx.audit({ detail: { ...detail, is_back: before !== undefined } })
    tx.event({ type: 'node.enroll', subject: id, data: { name: row.name } })
    return { body: answer(parts, row, certificate) }
  })
}

/** The answer again, for one that lost it. Nothing is changed. */
async function repeated(
  parts: EnrollParts,
  request: EnrollRequest,
  wanted: { readonly id: string; readonly keySha256: string },
): Promise<Reply> {
  return await mutate(request, wanted.id, async (tx) => {
    const row = await MEMBERS.find(tx, { node_id: wanted.id })
    const certificate = await newestCertificate(tx, wanted.id)
    const isSame = row?.left_at_ms === null && row.key_sha256 === wanted.keySha256
    if (!isSame || certificate === undefined || certificate.expires_at_ms <= parts.context.clock.nowMs())
      throw bootstrapTokenInvalid()
    tx.audit({ detail: { is_repeated: true } })
    return { body: answer(parts, row, certificate) }
  })
}

async function renewed(parts: EnrollParts, request: EnrollRequest, id: string): Promise<Reply> {
  if (request.principal.id !== id) throw forbidden('node, for its own id')
  refuseUnlessRoot(parts, id)
  const { csr_pem, name, address } = request.body
  const { peerAddress } = request
  const key = await parts.authority.readRequest(csr_pem, ownNames({ id, name, address, peerAddress }))
  const renewal = await prepareRenewal(parts, id, key, request.peerAddress)
  return await mutate(request, id, renewal)
}

/**
 * Renews the certificate of a member inside the mutation that the result is given to. A certificate of which half of its
 * life is left is given again.
 */
export async function prepareRenewal(
  parts: EnrollParts,
  id: string,
  key: Uint8Array,
  peerAddress: string,
): Promise<(tx: MutationTx) => Promise<Reply>> {
  const { context, memberList } = parts
  const keySha256 = keyDigest(key)
  const known = memberList.member(id)
  refuseOtherKey(known, keySha256)
  const addresses = [peerAddress, ...(known === undefined ? [] : [known.overlay_address])]
  const newest = await newestCertificate(context.db, id)
  const nowMs = context.clock.nowMs()
  const fresh =
    newest !== undefined && isYoung(newest, nowMs)
      ? undefined
      : await issue(parts, id, key, { addresses, localName: newest && localNameIn(newest.pem) })
  return async (tx) => {
    const row = await MEMBERS.find(tx, { node_id: id })
    if (row === undefined || row.left_at_ms !== null)
      throw nodeStateConflict(`the node ${id} is not a member; invite it again`)
    refuseOtherKey(row, keySha256)
    const certificate = fresh ?? (await newestCertificate(tx, id))
    if (certificate === undefined)
      throw nodeStateConflict(`the node ${id} has no certificate; enroll it again`)
    if (fresh !== undefined) {
      await memberList.renew(tx, fresh)
      const certificateExpiresAtMs = fresh.expires_at_ms
      await parts.nodes.enrolled(tx, { nodeId: id, name: row.name, certificateExpiresAtMs })
    }
    tx.audit({ detail: { serial: certificate.serial, is_renewal: true } })
    tx.event({ type: 'node.renew', subject: id })
    return { body: answer(parts, row, certificate) }
  }
}

async function mutate(
  request: EnrollRequest,
  id: string,
  work: (tx: MutationTx) => Promise<Reply>,
): Promise<Reply> {
  try {
    return await request.mutate(id, work)
  } catch (cause) {
    throw new Mutated('audited', { cause })
  }
}

/**
 * A certificate for both ends of TLS. It has no host name that the node asked for: people import this CA, and a member must
 * not get a certificate for somebody else's host. `addresses`: where it was seen to be; `localName`: see `localNameOf`.
 */
async function issue(
  parts: EnrollParts,
  id: string,
  key: Uint8Array,
  { addresses, localName }: { readonly addresses: readonly string[]; readonly localName: string | undefined },
): Promise<CertificateRow> {
  const nowMs = parts.context.clock.nowMs()
  const { pem, serial, notAfterMs } = await parts.authority.issue({
    publicKey: key,
    commonName: id,
    uri: nodeUri(id),
    dnsNames: localName === undefined ? ['localhost'] : ['localhost', localName],
    addresses: certifiedAddresses(id, addresses, parts.memberList.members(), machineAddresses(parts.context)),
    notAfterMs: nowMs + CERTIFICATE_LIFE_MS,
  })
  return {
    serial,
    node_id: id,
    pem,
    issued_at_ms: nowMs,
    expires_at_ms: notAfterMs,
    revoked_at_ms: null,
  }
}

/** Throws `node_state_conflict` where nobody can join, or for the root itself. */
function refuseUnlessRoot(parts: EnrollParts, id: string): void {
  requireRoot(parts, 'join')
  if (id === parts.node.nodeId)
    throw nodeStateConflict('a node does not join its own mesh; join from another box')
}

/** Who comes back, or renews, is known by its key: an id that somebody has is nobody else's. */
function refuseOtherKey(row: MemberRow | undefined, keySha256: string): void {
  if (row !== undefined && row.key_sha256 !== keySha256)
    throw nodeStateConflict(
      `the node ${row.node_id} is known with another key; a box that lost its keys starts again with svc node init`,
    )
}

function isYoung({ issued_at_ms, expires_at_ms }: CertificateRow, nowMs: number): boolean {
  return nowMs >= issued_at_ms && nowMs < issued_at_ms + (expires_at_ms - issued_at_ms) / 2
}

/** By what a node is known: the SHA-256 of its SubjectPublicKeyInfo (DER), hexadecimal. */
export function keyDigest(octets: Uint8Array): string {
  return hash('sha256', octets)
}

function answer(parts: EnrollParts, row: MemberRow, certificate: CertificateRow): object {
  return {
    node_id: row.node_id,
    certificate_pem: certificate.pem,
    ca_pem: parts.authority.caPem,
    expires_at: timestampFromMs(certificate.expires_at_ms),
    mesh: { name: ownMeshName(parts), root_node_id: parts.node.nodeId },
    overlay_address: row.overlay_address,
  }
}
