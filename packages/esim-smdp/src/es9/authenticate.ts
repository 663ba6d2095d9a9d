import { type KeyObject, timingSafeEqual } from 'node:crypto'
import type { OpenableSim, Tx } from '@steeple/contracts'
import { checkEuiccChain, signP1363, tlv, verifyP1363 } from '@steeple/sgp22'
import { ESIM_CODE } from '../codes/restored.ts'
import type { RspIdentity } from '../parts.ts'
import { templateFor } from '../profile/template.ts'
import { type AuthenticateOk, isSpoken, readAuthenticateResponse } from '../rsp/euicc-messages.ts'
import { SEQUENCE, TID } from '../rsp/members.ts'
import { type RefusalName, Refused, readBody } from '../rsp/refusal.ts'
import { deliverability, type Move, move } from '../states/move.ts'
import { adoptEarlier } from '../store/adopt-store.ts'
import { codeOfEid, codeOfMatching, isHeldElsewhere } from '../store/code-queries.ts'
import { noteStep } from '../store/es2-store.ts'
import { euiccId, euiccSeen, isLocked, type NamedEuicc, withFailure } from '../store/euicc-store.ts'
import { CODES, type CodeRow, EUICCS, type EuiccRow, type SessionRow } from '../store/rows.ts'
import { claim } from '../store/session-store.ts'
import { base64, type Es9Core, giveUp, identityOf, simOf, tellLocked, tidOctets, understood } from './core.ts'
import { metadataOf } from './profile-of.ts'

/** A code that an eUICC has come for, as it was before anything was decided. */
interface Sought {
  readonly code: CodeRow
  readonly sim: OpenableSim | undefined
  /** By a restore. */
  readonly isClosed: boolean
}
/** What is answered when nothing stands in the way. */
interface Offer {
  readonly metadata: Uint8Array
  readonly signed: Uint8Array
  readonly signature: Uint8Array
}
/** One call, as far as it has come before the store decides. */
interface Call {
  readonly session: SessionRow
  readonly response: AuthenticateOk
  readonly euicc: ProvenEuicc
  readonly sought: Sought | undefined
  readonly offer: Offer | undefined
  /** Whether the eUICC takes a profile of the template. */
  readonly fit: Fit
}

/** An eUICC has few of these: who tries codes meets them. */
const FAILURES: ReadonlySet<RefusalName> = new Set(['matching_id', 'other_eid', 'too_many'])
/** What "eligibility and retry limit" is about. SGP.22 §5.3.5. */
const ELIGIBILITY: ReadonlySet<RefusalName> = new Set(['too_many', 'not_eligible', 'memory'])
/** Octets; no profile fits in less. */
const LEAST_MEMORY = 8_192
type Fit = 'yes' | 'never' | 'other_version'
const OTHER_VERSION =
  'the device takes profiles of an earlier version alone; set esim.template to one of that version, or take another device'
/** Version of interoperable profiles (TCA) that templates have. */
const PROFILE_MAJOR = 2

/** Checks who an eUICC is and offers it the profile of its code. Throws `Refused`. SGP.22 §5.6.3. */
export async function authenticateClient(
  core: Es9Core,
  octets: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'transaction')
  const { db } = core.parts.context
  const tid = body.text('transactionId', 'transaction')
  const session = await core.pendingSessions.find(tid, core.nowMs(), core.lifeMs)
  if (session === undefined) throw new Refused('transaction')
  const response = understood('signature', () =>
    readAuthenticateResponse(body.octets('authenticateServerResponse', 'signature')),
  )
  if (!response.isOk) return await giveUp(core, session, response)
  const identity = identityOf(core, session)
  const euicc = proveEuicc(core, session, response)
  await adoptEarlier(core.parts, euicc)
  const sought = await soughtBy(core, response, euicc)
  const offer = offerOf(core, session, identity, response, sought)
  const { refusal, locked } = await db.write((tx) =>
    decide(core, tx, { session, response, euicc, sought, offer, fit: fitOf(core, response, sought) }),
  )
  if (locked !== undefined) await tellLocked(core, locked)
  if (refusal !== undefined || offer === undefined) throw new Refused(refusal ?? 'unavailable')
  return {
    transactionId: session.tid,
    profileMetadata: base64(offer.metadata),
    smdpSigned2: base64(offer.signed),
    smdpSignature2: base64(offer.signature),
    smdpCertificate: base64(identity.pb.der),
  }
}

async function soughtBy(
  { parts }: Es9Core,
  { matchingId }: AuthenticateOk,
  euicc: ProvenEuicc,
): Promise<Sought | undefined> {
  const { db } = parts.context
  const code =
    matchingId === ''
      ? await codeOfEid(db, euicc.hash)
      : await codeOfMatching(db, await parts.lookup.mac(matchingId))
  if (code === undefined) return undefined
  const closed = await parts.closed.among(ESIM_CODE, [code.token])
  return { code, sim: await parts.issuer.sim(simOf(code)), isClosed: closed.has(code.token) }
}

function offerOf(
  core: Es9Core,
  session: SessionRow,
  identity: RspIdentity,
  response: AuthenticateOk,
  sought: Sought | undefined,
): Offer | undefined {
  if (sought?.sim === undefined || deliverability(sought.sim.view) !== 'deliverable') return undefined
  if (sought.code.state !== 'released' && sought.code.state !== 'downloaded') return undefined
  const metadata = metadataOf(core, sought.code, sought.sim)
  const signed = smdpSigned2(tidOctets(session.tid), sought.code.confirmation_sealed !== null)
  return {
    metadata,
    signed,
    signature: signP1363(identity.pb.key, signed, response.signature),
  }
}

/** Without a one-time key to use again: each delivery is bound anew. SGP.22 §5.6.2. */
export function smdpSigned2(tid: Uint8Array, isConfirmationNeeded: boolean): Uint8Array {
  return tlv(SEQUENCE, tlv(TID, tid), tlv(0x01, Uint8Array.of(isConfirmationNeeded ? 0xff : 0x00)))
}

/** What the eUICC says of profiles of the template; the template's own trouble is told at the delivery. */
function fitOf(
  { parts }: Es9Core,
  { info: { can, profileVersion } }: AuthenticateOk,
  sought: Sought | undefined,
): Fit {
  if ((profileVersion?.[0] ?? PROFILE_MAJOR) < PROFILE_MAJOR) return 'never'
  try {
    const template = templateFor(parts.template(sought?.sim?.view.profile), profileVersion)
    if (template === undefined) return 'other_version'
    return can === undefined || template.needs.every(can) ? 'yes' : 'never'
  } catch {
    return 'yes'
  }
}

/** All that changes by the call, in one transaction. */
async function decide(
  core: Es9Core,
  tx: Tx,
  call: Call,
): Promise<{ readonly refusal: RefusalName | undefined; readonly locked?: EuiccRow }> {
  const { vault } = core.parts
  const { session, euicc, sought, offer } = call
  const nowMs = core.nowMs()
  const known = await EUICCS.find(tx, { eid_hash: euicc.hash })
  const { profileVersion } = call.response.info
  const seen = euiccSeen(vault, { ...euicc, profileVersion }, known, nowMs)
  const judged = isLocked(seen, nowMs) ? { refusal: 'locked' as const } : await judge(core, tx, call)
  const refusal = judged.refusal ?? (offer === undefined ? 'unavailable' : undefined)
  const proven = { eid_hash: euicc.hash, euicc_key: euicc.spki, expires_at_ms: core.sessionEndMs(nowMs) }
  const isNext = await claim(
    tx,
    session,
    refusal !== undefined
      ? { ...proven, step: 'ended' }
      : {
          ...proven,
          step: 'authenticated',
          token: sought?.code.token ?? null,
          eid_sealed: vault.seal(Buffer.from(euicc.eid), `esim_smdp_session/${session.tid}`),
          signature2: offer?.signature ?? null,
        },
  )
  if (!isNext) return { refusal: 'transaction' }
  if (judged.row !== undefined && judged.row !== judged.before && judged.before !== undefined)
    await CODES.change(tx, judged.before, judged.row)
  await tellEligibility(core, tx, { token: judged.before?.token, eidHash: euicc.hash, refusal })
  const after = refusal !== undefined && FAILURES.has(refusal) ? withFailure(seen, nowMs) : seen
  if (known === undefined) await EUICCS.insert(tx, after)
  else await EUICCS.change(tx, known, after)
  return { refusal, ...(after !== seen && isLocked(after, nowMs) && { locked: after }) }
}

/** An order system hears of its own orders, and not of whoever else tries their codes. */
async function tellEligibility(
  core: Es9Core,
  tx: Tx,
  seen: {
    readonly token: string | undefined
    readonly eidHash: string
    readonly refusal: RefusalName | undefined
  },
): Promise<void> {
  const { token, eidHash, refusal } = seen
  if (token === undefined || (refusal !== undefined && !ELIGIBILITY.has(refusal))) return
  const failure = refusal === undefined ? {} : { failure: refusal }
  await noteStep(core.parts, tx, { token, eidHash, point: 'eligibility', ...failure })
}

/** What becomes of the code. Checks in the order of SGP.22 §3.1.3. */
async function judge(
  core: Es9Core,
  tx: Tx,
  { response, euicc, sought, fit }: Call,
): Promise<Partial<Move> & { readonly before?: CodeRow }> {
  const before = sought === undefined ? undefined : await CODES.find(tx, { token: sought.code.token })
  if (before === undefined) return { refusal: 'matching_id' }
  const by = { eid: euicc.hash, eidLast4: euicc.last4 }
  const moved = move(before, { kind: 'attempt', sim: deliverability(sought?.sim?.view), ...by }, core.terms())
  if (moved.refusal !== undefined) return { ...moved, before }
  if (sought?.isClosed === true) return { refusal: 'not_released', before }
  if (await isHeldElsewhere(tx, before.hash, euicc.hash)) return { refusal: 'other_eid' }
  const { freeMemory = LEAST_MEMORY, svn } = response.info
  // Another template may suit it: the code stays as it is.
  if (fit === 'other_version')
    return { refusal: 'not_eligible', before, row: { ...before, last_error: OTHER_VERSION } }
  if (!isSpoken(svn) || fit === 'never')
    return { ...move(before, { kind: 'ineligible', ...by }, core.terms()), before }
  // Space can be made: the code stays as it is.
  if (freeMemory < LEAST_MEMORY) return { refusal: 'memory' }
  return { ...moved, before }
}

/** An eUICC that has proved who it is. */
export interface ProvenEuicc extends NamedEuicc {
  readonly last4: string
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array
  readonly key: KeyObject
}

const CHAIN_REFUSALS: Readonly<Record<string, RefusalName>> = {
  '8.11.1/3.9': 'issuer_ci',
  '8.1.2/6.1': 'eum_certificate',
  '8.1.2/6.3': 'eum_expired',
  '8.1.3/6.1': 'euicc_certificate',
  '8.1.3/6.3': 'euicc_expired',
}

/** The checks of an eUICC in the order of SGP.22 §5.6.3. Throws `Refused`. */
function proveEuicc(core: Es9Core, session: SessionRow, response: AuthenticateOk): ProvenEuicc {
  const euicc = euiccOfChain(core, session, response)
  const isSigned = verifyP1363(euicc.key, response.signature, response.signed)
  const isOurs =
    response.tid === session.tid &&
    response.serverAddress === core.parts.context.config.smdp_address &&
    isSame(response.serverChallenge, session.server_challenge)
  if (!isSigned || !isOurs) throw new Refused('signature')
  // What was not signed before must be what is signed now. SGP.22 §3.1.2.
  if (!isSame(response.info.svn, session.svn)) throw new Refused('version')
  return euicc
}

/** The eUICC that two certificates name. Throws `Refused`. */
export function euiccOfChain(
  core: Es9Core,
  session: Pick<SessionRow, 'ci_pkid'>,
  certificates: { readonly euicc: Uint8Array; readonly eum: Uint8Array },
): ProvenEuicc {
  const identities = core.parts.certs.identities()
  const identity = identities.find(({ ciPkid }) => ciPkid === session.ci_pkid)
  if (identity === undefined) throw new Refused('transaction')
  const { euicc, eum } = certificates
  const found = checkEuiccChain(
    { euicc, eum, ci: identity.ci, nowMs: core.nowMs(), isRevoked: core.parts.certs.isRevoked },
    core.verified,
  )
  if ('code' in found)
    throw new Refused(CHAIN_REFUSALS[found.code] ?? 'euicc_certificate', { cause: found.message })
  const { eid, spki, publicKey } = found
  const { authority } = identity
  return { eid, authority, hash: euiccId(authority, eid), last4: eid.slice(-4), spki, key: publicKey }
}

/** Compares in a time that does not depend on where they differ. */
export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
