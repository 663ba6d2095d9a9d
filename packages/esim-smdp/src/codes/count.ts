import type { EsimParts } from '../parts.ts'
import { CODE_STATES, countCodes } from '../store/code-queries.ts'

/** Gives the metric how many codes are in each state. */
export function codeCounts({ context }: EsimParts): () => Promise<void> {
  const gauge = context.metrics.gauge('svc_esim_smdp_codes', 'Activation codes, by state.', ['state'])
  return async () => {
    const counts = await countCodes(context.db)
    for (const state of CODE_STATES) gauge.set(counts.get(state) ?? 0, { state })
  }
}
