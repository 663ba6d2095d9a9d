import { createHash } from 'node:crypto'
import type { ObservedTx, OpenableSim } from '@steeple/contracts'
import { BspError, verifyP1363 } from '@steeple/sgp22'
import { bindProfile } from '../bpp/bind.ts'
import { noteStep } from '../es2/progress.ts'
import { type DownloadOk, readDownloadResponse } from '../rsp/download-response.ts'
import { readBody } from '../rsp/json-body.ts'
import { type RefusalName, Refused } from '../rsp/refusal.ts'
import { move } from '../states/move.ts'
import { standingOf } from '../states/standing.ts'
import { isLocked, versionOfRow, withFailure, withoutFailures } from '../store/euicc-store.ts'
import { putDelivered } from '../store/held-store.ts'
import { isHeldElsewhere } from '../store/order-store.ts'
import { CODES, type CodeRow, EUICCS, type EuiccRow, type SessionRow } from '../store/rows.ts'
import { advance, sessionAt } from '../store/session-store.ts'
import { base64, type Es9Core, identityOf, simOf, tidOctets, understood } from './core.ts'
import { giveUp } from './give-up.ts'
import { tellLocked } from './locks.ts'
import { profileOf } from './profile-of.ts'
import { isSame } from './prove-euicc.ts'

/** How long the result of an installation is waited for: a phone sends it when it is on the air again. */
export const RESULT_LIFE_MS: number = 90 * 86_400_000

/** A session whose eUICC has proved who it is, with its code. */
interface Open {
  readonly session: SessionRow
  readonly code: CodeRow
  readonly sim: OpenableSim | undefined
  readonly eid: string
}

/** Delivers a profile, bound to the eUICC of the session. Throws `Refused`. SGP.22 §5.6.2. */
export async function getBoundProfilePackage(
  core: Es9Core,
  octets: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'transaction')
  const tid = body.text('transactionId', 'transaction')
  const session = await sessionAt(core.parts.context.db, tid, ['authenticated'], core.nowMs())
  if (session === undefined) throw new Refused('transaction')
  const response = understood('signature', () =>
    readDownloadResponse(body.octets('prepareDownloadResponse', 'signature')),
  )
  if (!response.isOk) return await giveUp(core, session, response)
  const { euicc_key, signature2 } = session
  if (euicc_key === null || signature2 === null || response.tid !== session.tid)
    throw new Refused('signature')
  const key = core.keys.of(euicc_key)
  if (!verifyP1363(key, response.signature, response.signed, signature2)) throw new Refused('signature')
  const open = await openOf(core, session)
  const wrong = confirmationRefusal(core, open, response)
  if (wrong !== undefined) throw new Refused(await refuseConfirmation(core, open, wrong))
  const bpp = await boundFor(core, open, response)
  const refusal = await core.parts.context.observe((tx) => hand(core, tx, open))
  if (refusal !== undefined) throw new Refused(refusal)
  core.metrics.downloaded('delivered')
  core.metrics.took(Math.max(0, core.nowMs() - session.created_at_ms) / 1_000)
  return { transactionId: session.tid, boundProfilePackage: base64(bpp) }
}

async function openOf({ parts }: Es9Core, session: SessionRow): Promise<Open> {
  const { token, eid_sealed, tid } = session
  if (token === null || eid_sealed === null) throw new Refused('transaction')
  const code = await CODES.find(parts.context.db, { token })
  if (code === undefined) throw new Refused('matching_id')
  const sim = await parts.issuer.sim(simOf(code))
  const eid = Buffer.from(parts.vault.open(eid_sealed, `esim_smdp_session/${tid}`)).toString('latin1')
  return { session, code, sim, eid }
}

/** `SHA-256(SHA-256(code) || transaction id)` is what was entered. Facts section 1.4. */
function confirmationRefusal(
  { parts }: Es9Core,
  { code, session }: Open,
  { hashCc }: DownloadOk,
): 'confirmation_missing' | 'confirmation_refused' | undefined {
  if (code.confirmation_sealed === null) return undefined
  if (hashCc === undefined) return 'confirmation_missing'
  const stored = parts.vault.open(code.confirmation_sealed, `esim_smdp_code/${code.token}`)
  const expected = createHash('sha256').update(stored).update(tidOctets(session.tid)).digest()
  stored.fill(0)
  return isSame(expected, hashCc) ? undefined : 'confirmation_refused'
}

/** Ends the session, and counts a wrong code on the order and on the eUICC. */
async function refuseConfirmation(
  core: Es9Core,
  { session, code, eid }: Open,
  wrong: 'confirmation_missing' | 'confirmation_refused',
): Promise<RefusalName> {
  const nowMs = core.nowMs()
  const { refusal, locked } = await core.parts.context.db.write(async (tx) => {
    const now = await CODES.find(tx, { token: code.token })
    if (now === undefined || !(await advance(tx, session, { step: 'ended' })))
      return { refusal: 'transaction' as const, locked: undefined }
    if (wrong === 'confirmation_missing') {
      await tell(wrong)
      return { refusal: wrong, locked: undefined }
    }
    const by = { eid: session.eid_hash ?? '', eidLast4: eid.slice(-4) }
    const moved = move(now, { kind: 'wrong_confirmation', ...by }, core.terms())
    if (moved.row !== now) await CODES.change(tx, now, moved.row)
    await tell(moved.refusal ?? wrong)
    return { refusal: moved.refusal ?? wrong, locked: await countFailure() }

    async function tell(failure: RefusalName): Promise<void> {
      const { token } = code
      await noteStep(core.parts, tx, { token, eidHash: session.eid_hash, point: 'confirmation', failure })
    }
    async function countFailure(): Promise<EuiccRow | undefined> {
      const seen = await EUICCS.find(tx, { eid_hash: by.eid })
      if (seen === undefined) return undefined
      const after = withFailure({ ...seen, last_seen_ms: nowMs }, nowMs)
      await EUICCS.change(tx, seen, after)
      return isLocked(after, nowMs) ? after : undefined
    }
  })
  if (locked !== undefined) await tellLocked(core, locked)
  return refusal
}

/** The profile for this session. What was drawn for it is gone when this returns. Throws `Refused`. */
async function boundFor(core: Es9Core, open: Open, { otpk }: DownloadOk): Promise<Uint8Array> {
  const { session, code, sim, eid } = open
  const { refusal } = deliverMove(core, open, code)
  if (refusal !== undefined || sim === undefined)
    return await refuseDelivery(core, session, refusal ?? 'matching_id')
  const identity = identityOf(core, session)
  const euicc = await EUICCS.find(core.parts.context.db, { eid_hash: session.eid_hash ?? '' })
  const { metadata, octets } = await profileOf(core, code, sim, versionOfRow(euicc))
  try {
    const tid = tidOctets(session.tid)
    return bindProfile({ identity, tid, eid, euiccOtpk: otpk, metadata, profile: octets, mode: 'ppk' }).bpp
  } catch (error) {
    if (error instanceof BspError) throw new Refused('signature', { cause: error })
    throw error
  } finally {
    octets.fill(0)
  }
}

async function refuseDelivery(core: Es9Core, session: SessionRow, refusal: RefusalName): Promise<never> {
  await core.parts.context.db.write((tx) => advance(tx, session, { step: 'ended' }))
  throw new Refused(refusal)
}

function deliverMove(
  core: Es9Core,
  { session, sim, eid }: Open,
  row: CodeRow,
): { readonly row: CodeRow; readonly refusal?: RefusalName } {
  const by = { eid: session.eid_hash ?? '', eidLast4: eid.slice(-4) }
  return move(row, { kind: 'deliver', sim: standingOf(sim?.view), ...by }, core.terms())
}

/** Writes down that the profile goes out: session, code, inventory and event in one. Gives why it must not. */
async function hand(core: Es9Core, tx: ObservedTx, open: Open): Promise<RefusalName | undefined> {
  const { session, code } = open
  const nowMs = core.nowMs()
  const eidHash = session.eid_hash ?? ''
  const now = await CODES.find(tx, { token: code.token })
  if (now === undefined) return 'matching_id'
  const moved = deliverMove(core, open, now)
  const refusal = moved.refusal ?? ((await isHeldElsewhere(tx, now.hash, eidHash)) ? 'other_eid' : undefined)
  const delivered = { step: 'delivered', expires_at_ms: nowMs + RESULT_LIFE_MS } as const
  const isNext = await advance(tx, session, refusal === undefined ? delivered : { step: 'ended' })
  if (!isNext || refusal !== undefined) return isNext ? refusal : 'transaction'
  await CODES.change(tx, now, moved.row)
  await putDelivered(tx, moved.row, eidHash, nowMs)
  const seen = await EUICCS.find(tx, { eid_hash: eidHash })
  if (seen !== undefined && seen.failures > 0) await EUICCS.change(tx, seen, withoutFailures(seen))
  await noteStep(core.parts, tx, { token: code.token, eidHash, point: 'download' })
  const { eid_last4, downloads } = moved.row
  const data = { imsi_sha256_12: code.hash, eid_last4, downloads }
  tx.event({ type: 'esim.downloaded', subject: code.token, data })
  return undefined
}
