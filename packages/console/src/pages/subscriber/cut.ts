import type { AnswerOf, Result } from '@steeple/client'
import { t } from '../../text/index.ts'
import { durationText } from '../../ui/time.tsx'
import type { Sim } from '../sims/sim.tsx'

/** How long an answer waits for the phone to be off. */
export const WAIT = '10s'

type Cut = AnswerOf<'POST', '/v1/sims/{imsi}/suspend'>

/** What every dialog here is given. */
export interface SimDialogProps {
  readonly sim: Sim
  /** The tag that the SIM was read with. */
  readonly etag: string | undefined
  readonly onClose: () => void
  readonly onChanged: () => void
}

/** How long an answer took beside what it says: the phone was off by then. */
export async function timed(
  ask: () => Promise<Result<Cut>>,
): Promise<Result<Cut & { readonly tookMs: number }>> {
  const from = performance.now()
  const answer = await ask()
  return answer.ok ? { ...answer, data: { ...answer.data, tookMs: performance.now() - from } } : answer
}

/** What was done, and whether its phone is off the network. */
export function cutText(
  what: 'sim.suspended' | 'sim.revoked',
  name: string,
  { detached, tookMs }: Pick<Cut, 'detached'> & { readonly tookMs: number },
): string {
  const how =
    detached === 'yes'
      ? t('sim.detached.yes', { time: durationText(tookMs) })
      : t(detached === 'pending' ? 'sim.detached.pending' : 'sim.detached.not_attached')
  return `${t(what, { name })} ${how}`
}
