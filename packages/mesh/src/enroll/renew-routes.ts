import {
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
  verify,
  X509Certificate,
} from 'node:crypto'
import {
  type Clock,
  certificateRevoked,
  expandRoles,
  nodeStateConflict,
  ok,
  type Reader,
  type Reply,
  type Route,
  recordSchema,
  route,
  rowSum,
  type SessionKeys,
  serialOf,
  sessionKeysRef,
  type Tx,
  unauthenticated,
} from '@steeple/contracts'
import { PEM_SCHEMA, renewalPurpose } from '../shapes.ts'
import { createRefusals, ENROLLED_SCHEMA, keyDigest, Mutated, prepareRenewal } from './enroll-route.ts'
import { GRACE_MS } from './member-list.ts'
import { ownNames } from './own-names.ts'
import type { EnrollParts } from './parts.ts'
import { NOTES } from './store.ts'

/** How long a nonce is good for. */
const NONCE_MS = 60_000
const NONCE_BYTES = 16
const MAC_BYTES = 32
/** Of times in names, so that they sort as numbers do. */
const TIME_DIGITS = 15
const CLAIM = `insert into mesh_note (name, value, row_sum) values (:name, :value, :row_sum)
  on conflict (name) do nothing`
const FORGET = "delete from mesh_note where name >= 'nonce ' and name < :before"

/**
 * Nonces that nobody need keep: a time and random octets under a key that the instances of a node share, so that any of them
 * takes what another gave. Each is good once: used ones are rows for as long as they would be good.
 */
interface Nonces {
  make(): string
  /** Whether it was given within the last minute, and is not used. */
  isGood(reader: Reader, nonce: string): Promise<boolean>
  /** Uses it up; false when another transaction was faster. */
  claim(tx: Tx, nonce: string): Promise<boolean>
}

/** Nonces over the notes of the store. */
export function createNonces(clock: Pick<Clock, 'nowMs'>, keys: SessionKeys): Nonces {
  const octets = Buffer.from(keys.derive('mesh renewal nonces'))
  const key = createSecretKey(octets)
  octets.fill(0)
  const mac = (body: Uint8Array): Buffer => createHmac('sha256', key).update(body).digest()
  const givenMs = (nonce: string): number | undefined => {
    const all = Buffer.from(nonce, 'base64url')
    // One nonce has one text: another one of the same octets would be another row.
    if (all.length !== 8 + NONCE_BYTES + MAC_BYTES || all.toString('base64url') !== nonce) return undefined
    const body = all.subarray(0, 8 + NONCE_BYTES)
    return timingSafeEqual(mac(body), all.subarray(8 + NONCE_BYTES))
      ? Number(body.readBigUInt64BE(0))
      : undefined
  }
  return {
    make: () => {
      const body = Buffer.concat([Buffer.alloc(8), randomBytes(NONCE_BYTES)])
      body.writeBigUInt64BE(BigInt(Math.round(clock.nowMs())), 0)
      return Buffer.concat([body, mac(body)]).toString('base64url')
    },
    isGood: async (reader, nonce) => {
      const atMs = givenMs(nonce)
      // Clocks of two instances differ by little, and either may be ahead.
      if (atMs === undefined || Math.abs(clock.nowMs() - atMs) > NONCE_MS) return false
      return (await NOTES.find(reader, { name: nameOf(atMs, nonce) })) === undefined
    },
    claim: async (tx, nonce) => {
      const atMs = givenMs(nonce)
      if (atMs === undefined) return false
      await tx.run(FORGET, { before: `nonce ${timeText(Math.max(0, clock.nowMs() - 2 * NONCE_MS))}` })
      const row = { name: nameOf(atMs, nonce), value: '' }
      return (await tx.run(CLAIM, { ...row, row_sum: rowSum(NOTES.columns, row) })) > 0
    },
  }
}

function nameOf(atMs: number, nonce: string): string {
  return `nonce ${timeText(atMs)} ${nonce}`
}

function timeText(ms: number): string {
  return String(Math.round(ms)).padStart(TIME_DIGITS, '0')
}

interface Body {
  readonly certificate_pem: string
  readonly csr_pem: string
  readonly nonce: string
  readonly signature: string
}

/**
 * Renewal for those whose certificate has expired because the root was away: a nonce, and a request signed with the key of
 * the old certificate. Public, since nothing that has expired opens a route; what is refused is refused cheaply.
 */
export function renewRoutes(parts: EnrollParts): readonly Route[] {
  const refusals = createRefusals(parts.context, 'renew')
  const nonces = createNonces(parts.context.clock, parts.context.use(sessionKeysRef))
  return [
    route({
      method: 'GET',
      path: '/v1/mesh/challenge',
      role: 'public',
      summary: 'Get a nonce to renew a certificate that has expired',
      description:
        'The member signs it with the key of its certificate, and sends both to POST /v1/nodes/{id}/enroll.',
      schema: {
        response: recordSchema({ nonce: { type: 'string' }, expires_in_s: { type: 'integer' } }),
      },
      handle: async () => ok({ nonce: nonces.make(), expires_in_s: NONCE_MS / 1_000 }),
    }),
    route<unknown, unknown, Body>({
      method: 'POST',
      path: '/v1/mesh/renew',
      role: 'public',
      summary: 'Renew a certificate that has expired and is not revoked',
      description:
        'signature: ECDSA over SHA-256 (DER, base64) by the key of the certificate, over "steeple mesh renewal", the nonce and ' +
        'csr_pem, with a line feed between each two.',
      example: {
        certificate_pem: '-----BEGIN CERTIFICATE-----…',
        csr_pem: '-----BEGIN CERTIFICATE REQUEST-----…',
        nonce: 'AAAA',
        signature: 'MEUC',
      },
      schema: {
        body: recordSchema({
          certificate_pem: { ...PEM_SCHEMA, maxLength: 8_192 },
          csr_pem: { ...PEM_SCHEMA, maxLength: 8_192 },
          nonce: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,200}$' },
          signature: { type: 'string', pattern: '^[A-Za-z0-9+/=]{1,200}$' },
        }),
        response: ENROLLED_SCHEMA,
      },
      bodyLimit: 32_768,
      audit: 'node.enroll',
      errors: ['unauthenticated', 'certificate_revoked', 'node_state_conflict'],
      onRefused: (request, error) => refusals.note(request, 'mesh', error),
      handle: async (request) => {
        const { body, peerAddress } = request
        let id = 'mesh'
        try {
          if (!(await nonces.isGood(parts.context.db, body.nonce))) throw badNonce()
          id = holderOf(parts, body)
          return await renew(parts, nonces, id, { ...body, peerAddress })
        } catch (error) {
          if (error instanceof Mutated) throw error.cause
          return await refusals.refuse(request as never, id, error)
        }
      },
    }),
  ]
}

function badNonce(): Error {
  return unauthenticated('the nonce is not known or has expired; ask for another one')
}

/** The member whose old certificate signed the request. Throws `unauthenticated`, `certificate_revoked`. */
function holderOf({ memberList, context }: EnrollParts, body: Body): string {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(body.certificate_pem)
  } catch (cause) {
    throw unauthenticated('the certificate cannot be read; join again', { cause })
  }
  const known = memberList.certificate(serialOf(certificate))
  if (known === undefined) throw unauthenticated('the certificate is not known; join again')
  if (known.isRevoked) throw certificateRevoked()
  if (context.clock.nowMs() > Date.parse(certificate.validTo) + GRACE_MS)
    throw unauthenticated('the certificate ended too long ago; join again')
  // A serial is no secret: the certificate must be of the key that was recorded, before anything is computed with it.
  const key = certificate.publicKey.export({ format: 'der', type: 'spki' })
  if (memberList.member(known.nodeId)?.key_sha256 !== keyDigest(key))
    throw unauthenticated('the certificate is not known; join again')
  const text = renewalPurpose(body.nonce, body.csr_pem)
  if (!verify('sha256', text, certificate.publicKey, Buffer.from(body.signature, 'base64')))
    throw unauthenticated('the signature is wrong; sign with the key of the certificate')
  return known.nodeId
}

async function renew(
  parts: EnrollParts,
  nonces: Nonces,
  id: string,
  { csr_pem: csrPem, nonce, peerAddress }: Body & { readonly peerAddress: string },
): Promise<Reply> {
  const { context, authority, identity, memberList } = parts
  if (!context.config.enabled || identity.membership() !== undefined)
    throw nodeStateConflict('this node is not the root of a mesh; ask the root')
  const key = await authority.readRequest(
    csrPem,
    ownNames({ id, name: memberList.member(id)?.name, address: undefined, peerAddress }),
  )
  const work = await prepareRenewal(parts, id, key, peerAddress)
  const name = memberList.member(id)?.name ?? id
  const principal = { kind: 'node' as const, id, name, roles: expandRoles(['node']) }
  let reply: Reply | undefined
  try {
    await context.mutate(principal, 'node.enroll', id, async (tx) => {
      if (!(await nonces.claim(tx, nonce))) throw badNonce()
      reply = await work(tx)
    })
  } catch (cause) {
    throw new Mutated('audited', { cause })
  }
  if (reply === undefined) throw new Error('the renewal gave no answer')
  return reply
}
