import type { EsimParts } from '../parts.ts'
import type { Terms } from './move.ts'

/** What codes move by now. */
export function termsNow({ context }: Pick<EsimParts, 'context'>): Terms {
  return {
    nowMs: Math.floor(context.clock.nowMs()),
    canExpire: context.clock.doubt?.() === undefined,
    maxDownloads: context.config.max_downloads,
    maxConfirmationAttempts: context.config.max_confirmation_attempts,
  }
}
