import type { EuiccError } from '../rsp/authenticate-response.ts'
import { Refused } from '../rsp/refusal.ts'
import type { SessionRow } from '../store/rows.ts'
import { advance } from '../store/session-store.ts'
import type { Es9Core } from './core.ts'

/** An eUICC has refused a session, which is over with it, if it is kept. It signs no error: of its code nothing changes. Throws `Refused`. */
export async function giveUp(core: Es9Core, session: SessionRow, refused: EuiccError): Promise<never> {
  if (refused.tid !== session.tid) throw new Refused('signature')
  const { db, log } = core.parts.context
  log.info({ step: session.step, error: refused.error }, 'an eUICC refused a session')
  if (session.step !== 'initiated') await db.write((tx) => advance(tx, session, { step: 'ended' }))
  throw new Refused('euicc_error')
}
