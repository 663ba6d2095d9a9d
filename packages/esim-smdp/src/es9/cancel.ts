import { verifyP1363 } from '@steeple/sgp22'
import { noteStep } from '../es2/progress.ts'
import { type CancelOk, readCancelResponse } from '../rsp/cancel-response.ts'
import { readBody } from '../rsp/json-body.ts'
import { Refused } from '../rsp/refusal.ts'
import { move } from '../states/move.ts'
import { CODES, type SessionRow } from '../store/rows.ts'
import { advance, sessionAt } from '../store/session-store.ts'
import { type Es9Core, identityOf, understood } from './core.ts'
import { isSame } from './prove-euicc.ts'

/**
 * Ends a session in which its eUICC had proved who it is. Throws `Refused`. SGP.22 §5.6.5.
 *
 * A session that this server has ended itself is cancelled without an effect: phones cancel after every failed step, and a
 * mistyped confirmation code must not end the order.
 */
export async function cancelSession(
  core: Es9Core,
  octets: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'transaction')
  const tid = body.text('transactionId', 'transaction')
  const steps = ['authenticated', 'delivered', 'ended'] as const
  const session = await sessionAt(core.parts.context.db, tid, steps, core.nowMs())
  if (session?.euicc_key === null || session === undefined) throw new Refused('transaction')
  const response = understood('signature', () =>
    readCancelResponse(body.octets('cancelSessionResponse', 'signature')),
  )
  if (response === undefined) throw new Refused('euicc_error')
  const key = core.keys.of(session.euicc_key)
  const isSigned = verifyP1363(key, response.signature, response.signed)
  if (!isSigned || response.tid !== session.tid) throw new Refused('signature')
  if (!isSame(response.owner, identityOf(core, session).ownerOctets)) throw new Refused('owner')
  if (session.step !== 'ended') await end(core, session, response)
  return { transactionId: session.tid }
}

async function end(core: Es9Core, session: SessionRow, { reason }: CancelOk): Promise<void> {
  const { token, eid_hash: eid } = session
  const expires_at_ms = core.sessionEndMs(core.nowMs())
  const isEnded = await core.parts.context.observe(async (tx) => {
    // What was delivered may be installed all the same: its result is waited for.
    const later = session.step === 'delivered' ? {} : { expires_at_ms }
    if (!(await advance(tx, session, { step: 'ended', ...later }))) return false
    const code = token === null ? undefined : await CODES.find(tx, { token })
    if (code === undefined || eid === null) return true
    const { row } = move(code, { kind: 'cancel', reason, eid, eidLast4: '' }, core.terms())
    if (row !== code) await CODES.change(tx, code, row)
    const point = session.step === 'delivered' ? 'installation' : 'download'
    const failure = { message: `cancelled on the device: reason ${reason}` }
    await noteStep(core.parts, tx, { token: code.token, eidHash: eid, point, failure })
    const data = { imsi_sha256_12: code.hash, reason, state: row.state }
    tx.event({ type: 'esim.cancelled', subject: code.token, data })
    return true
  })
  if (!isEnded) throw new Refused('transaction')
  core.metrics.downloaded('cancelled')
}
