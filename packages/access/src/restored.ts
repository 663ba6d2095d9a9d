import type { Plugin } from '@steeple/contracts'
import { BOOTSTRAP_TOKEN, INVITATION, RECOVERY_CODE } from './closed-kinds.ts'
import { removeAllLinks } from './links/link-store.ts'
import { CHALLENGE_LIFE_MS } from './passkeys/challenge.ts'
import { allPasskeys, keepNewerCount, useChallengesUntil } from './passkeys/passkey-store.ts'
import { allInvitations, endInvitation, findInvitationById, keepEnded } from './people/invitation-store.ts'
import { stepAt } from './people/second-factor.ts'
import { closeRecoveryCodes, useStepsUntil } from './people/second-factor-store.ts'
import { removeAllSessions } from './people/session-store.ts'
import { consoleTokens, findById, openBootstraps, removeToken } from './token-store.ts'

type Restored = Parameters<NonNullable<Plugin['restored']>>

/**
 * Whoever was logged in then is not now. What is good for one use may have been used since: it is closed, or removed where the
 * store that is replaced knows that it was.
 */
export async function endWhatWasOpen(tx: Restored[0], at: Restored[1]): Promise<void> {
  await removeAllSessions(tx)
  await removeAllLinks(tx)
  for (const { id } of await consoleTokens(tx)) await removeToken(tx, id)
  await closeInvitations(tx, at)
  await closeBootstraps(tx, at)
  for (const userId of await closeRecoveryCodes(tx)) at.close({ kind: RECOVERY_CODE, id: userId })
  // A phone may be a step ahead.
  await useStepsUntil(tx, stepAt(at.nowMs) + 1)
  await useChallengesUntil(tx, at.nowMs + CHALLENGE_LIFE_MS)
  const { present } = at
  if (present === undefined) return
  for (const row of await allPasskeys(present.db)) await keepNewerCount(tx, row)
}

async function closeInvitations(tx: Restored[0], { present, close, nowMs }: Restored[1]): Promise<void> {
  for (const { id, expires_at_ms: untilMs } of await allInvitations(tx)) {
    const isGone = present !== undefined && (await findInvitationById(present.db, id)) === undefined
    if (isGone) await endInvitation(tx, id, nowMs)
    else close({ kind: INVITATION, id, untilMs })
  }
  if (present !== undefined) await keepEnded(tx, present.db)
}

async function closeBootstraps(tx: Restored[0], { present, close }: Restored[1]): Promise<void> {
  for (const { id, expires_at_ms: untilMs } of await openBootstraps(tx)) {
    const now = present === undefined ? undefined : await findById(present.db, id)
    if (present !== undefined && (now === undefined || now.used_at_ms !== null)) await removeToken(tx, id)
    else close({ kind: BOOTSTRAP_TOKEN, id, ...(untilMs === null ? {} : { untilMs }) })
  }
}
