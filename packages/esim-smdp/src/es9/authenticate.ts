import { imsiHashOf } from './imsi-hash.ts'
import type { SubscriberView, Tx } from '@steeple/contracts'
import type { RspIdentity } from '../parts.ts'
import { type AuthenticateOk, readAuthenticateResponse } from '../rsp/authenticate-response.ts'
import { readBody } from '../rsp/json-body.ts'
import { Refused, type RefusalName } from '../rsp/refusal.ts'
import { signatureObject, smdpSigned2 } from '../rsp/server-messages.ts'
import { move } from '../states/move.ts'
import { standingOf } from '../states/standing.ts'
import { euiccSeen, isLocked, withFailure } from '../store/euicc-store.ts'
import { codeOfEid, codeOfMatching, isHeldElsewhere } from '../store/order-store.ts'
import { CODES, type CodeRow, EUICCS, type SessionRow } from '../store/rows.ts'
import { advance, sessionAt } from '../store/session-store.ts'
import { type Es9Core, identityOf, tidOctets, understood } from './core.ts'
import { base64 } from './initiate.ts'
import { metadataOf } from './offer.ts'
import { type ProvenEuicc, proveEuicc } from './prove-euicc.ts'
import { giveUp } from './give-up.ts'

/** A profile for which an eUICC has come. Nothing of it is decided yet. */
interface Sought {
  readonly code: CodeRow
  readonly view: SubscriberView | undefined
}

/** Refusals of which an eUICC has only so many: who tries codes meets these. */
const FAILURES: ReadonlySet<RefusalName> = new Set(['matching_id', 'other_eid', 'too_many'])
/** No profile fits in less. */
const LEAST_MEMORY = 8_192
/** Version of interoperable profiles (TCA) that the templates have. */
const PROFILE_MAJOR = 2

/** Proves the eUICC and offers it the profile. Throws `Refused`. SGP.22 §5.6.3. */
export async function authenticateClient(
  core: Es9Core,
  octets: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'transaction')
  const { db } = core.parts.context
  const tid = body.text('transactionId', 'transaction')
  const session = await sessionAt(db, tid, ['initiated'], core.nowMs())
  if (session === undefined) throw new Refused('transaction')
  const response = understood('signature', () =>
    readAuthenticateResponse(body.octets('authenticateServerResponse', 'signature')),
  )
  if (!response.isOk) return await giveUp(core, session, response)
  const identity = identityOf(core, session)
  const euicc = proveEuicc(core, session, response)
  const sought = await soughtBy(core, response, euicc)
  const offer = await offerOf(core, session, identity, sought)
  const refusal = await db.write((tx) => decide(core, tx, { session, response, euicc, sought, offer }))
  if (refusal !== undefined) throw new Refused(refusal)
  if (offer === undefined) throw new Refused('unavailable')
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
  return { code, view: await parts.subscribers.find(imsiHashOf(code)) }
}

interface Offer {
  readonly metadata: Uint8Array
  readonly signed: Uint8Array
  readonly signature: Uint8Array
}

/** What is answered when nothing stands in the way; undefined when something does. */
async function offerOf(
  core: Es9Core,
  session: SessionRow,
  identity: RspIdentity,
  sought: Sought | undefined,
): Promise<Offer | undefined> {
  if (sought?.view === undefined || standingOf(sought.view) !== 'deliverable') return undefined
  if (sought.code.state !== 'released' && sought.code.state !== 'downloaded') return undefined
  const metadata = await metadataOf(core, sought.code, sought.view)
  const signed = smdpSigned2(tidOctets(session.tid), sought.code.confirmation_sealed !== null)
  return { metadata, signed, signature: new Uint8Array() }
}

/** All that is decided of the call, in one transaction. Gives why it is refused. */
async function decide(
  core: Es9Core,
  tx: Tx,
  call: {
    readonly session: SessionRow
    readonly response: AuthenticateOk
    readonly euicc: ProvenEuicc
    readonly sought: Sought | undefined
    readonly offer: Offer | undefined
  },
): Promise<RefusalName | undefined> {
  return undefined
}
