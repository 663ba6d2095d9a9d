import type { ObservedTx } from '@steeple/contracts'
import type { Joined } from './join/join-round.ts'
import type { Session } from './join/session.ts'

/** Events of single sessions in one round. A core that restarts ends and begins them all at once. */
const MOST_EVENTS = 200

/** Tells of sessions that began and ended: of each one, or of how many when there are too many. */
export function tellOf(tx: Pick<ObservedTx, 'event'>, { began, ended }: Joined): void {
  if (began.length + ended.length > MOST_EVENTS) {
    tx.event({
      type: 'session.many',
      subject: 'sessions',
      data: { began: began.length, ended: ended.length },
    })
    return
  }
  for (const session of began) tx.event(eventOf('session.begin', session))
  for (const session of ended) tx.event(eventOf('session.end', session))
}

function eventOf(type: string, session: Session): Parameters<ObservedTx['event']>[0] {
  return {
    type,
    subject: String(session.id),
    data: { imsi_sha256_12: session.imsi, apn: session.apn, technology: session.technology },
  }
}
