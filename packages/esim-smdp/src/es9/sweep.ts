import type { ObservedTx } from '@steeple/contracts'
import { move } from '../states/move.ts'
import { pruneEuiccs } from '../store/euicc-store.ts'
import { codesDue } from '../store/order-store.ts'
import { CODES } from '../store/rows.ts'
import { countSessions, pruneSessions } from '../store/session-store.ts'
import type { Es9Core } from './core.ts'

/** Rows of one transaction: others wait as long. */
const CHUNK = 200

/** Forgets sessions that are over, lets codes expire, and forgets eUICCs that hold nothing; nothing while the clock is in doubt. */
export async function sweep(core: Es9Core, signal: AbortSignal): Promise<void> {
  const { context } = core.parts
  if (context.clock.doubt?.() !== undefined) return
  const nowMs = core.nowMs()
  while (!signal.aborted && (await context.db.write((tx) => pruneSessions(tx, nowMs, CHUNK))) === CHUNK);
  while (!signal.aborted && (await context.observe((tx) => expireSome(core, tx))) === CHUNK);
  await context.db.write((tx) => pruneEuiccs(tx, nowMs, CHUNK))
}

/** Counts the sessions that are kept. */
export async function countOpen(core: Es9Core): Promise<void> {
  core.metrics.sessions(await countSessions(core.parts.context.db))
}

async function expireSome(core: Es9Core, tx: ObservedTx): Promise<number> {
  const due = await codesDue(tx, core.nowMs(), CHUNK)
  for (const code of due) {
    const { row } = move(code, { kind: 'expire' }, core.terms())
    if (row === code) continue
    await CODES.change(tx, code, row)
    tx.event({ type: 'esim.expired', subject: code.token, data: { imsi_sha256_12: code.hash } })
  }
  return due.length
}
