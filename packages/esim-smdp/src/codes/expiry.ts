import type { EsimParts } from '../parts.ts'
import { overdueCodes } from '../store/code-queries.ts'
import { CODES } from '../store/rows.ts'

const CHUNK = 200

/** Ends the codes that nobody has downloaded in time. Does nothing while the clock is not believed. */
export async function expireCodes({ context }: EsimParts, signal: AbortSignal): Promise<void> {
  let after = ''
  while (!signal.aborted && context.clock.doubt?.() === undefined) {
    const nowMs = Math.floor(context.clock.nowMs())
    const found = await overdueCodes(context.db, nowMs, after, CHUNK)
    const last = found.at(-1)
    if (last === undefined) return
    await context.observe(async (tx) => {
      // As they are now: one may have been downloaded meanwhile.
      for (const row of await overdueCodes(tx, nowMs, after, CHUNK)) {
        await CODES.put(tx, { ...row, state: 'expired', changed_at_ms: nowMs })
        tx.event({ type: 'esim.expire', subject: row.token })
      }
    })
    after = last.token
  }
}
