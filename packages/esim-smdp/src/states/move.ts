import type { SubscriberView } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import type { RefusalName } from '../rsp/refusal.ts'
import type { CodeRow, CodeState } from '../store/rows.ts'

export function termsNow({ context }: Pick<EsimParts, 'context'>): Terms {
  return {
    nowMs: Math.floor(context.clock.nowMs()),
    canExpire: context.clock.doubt?.() === undefined,
    maxDownloads: context.config.max_downloads,
    maxConfirmationAttempts: context.config.max_confirmation_attempts,
  }
}

/** What a SIM's own state says about delivering its profile; see `standingOf`. */
export type Deliverability = 'deliverable' | 'expired' | 'gone'

/** Whose move it is: the eUICC that has proved who it is. */
interface ByEuicc {
  /** SHA-256 (hex) of the EID's digits. */
  readonly eid: string
  readonly eidLast4: string
}

interface Download extends ByEuicc {
  readonly sim: Deliverability
}
interface WithReason extends ByEuicc {
  /** As SGP.22 numbers it. */
  readonly reason: number
}
/** Each kind of event with what goes with it. */
interface Kinds {
  readonly attempt: Download
  readonly deliver: Download
  /** The eUICC can never take the profile. */
  readonly ineligible: ByEuicc
  readonly wrong_confirmation: ByEuicc
  readonly cancel: WithReason
  readonly installed: ByEuicc
  readonly install_failed: WithReason
  readonly deleted: ByEuicc
  readonly confirm: object
  readonly release: object
  readonly expire: object
  readonly revoke: object
}
type Kind = keyof Kinds
type Of<K extends Kind> = { readonly kind: K } & Kinds[K]

/** What happens to a code. SGP.22 §3.1.3, §3.1.5, §3.1.6. */
export type CodeEvent = { readonly [K in Kind]: Of<K> }[Kind]

export interface Terms {
  readonly nowMs: number
  /** False while the clock is in doubt: nothing expires then. */
  readonly canExpire: boolean
  readonly maxDownloads: number
  readonly maxConfirmationAttempts: number
}

/** The row as it is after the event (the same one when nothing has changed), and why the event was refused, if it was. */
export interface Move {
  readonly row: CodeRow
  readonly refusal?: RefusalName
}

type Rule<K extends Kind> = (row: CodeRow, event: Of<K>, terms: Terms) => Move
type Rules = { readonly [K in Kind]?: Rule<K> }

/** endUserRejection and so on; those two leave the order as it is. SGP.22 §3.1.3.1. */
const POSTPONED: ReadonlySet<number> = new Set([1, 2])
/** insufficientMemory, interruption: another try may succeed. */
const TEMPORARY: ReadonlySet<number> = new Set([10, 11])
/** installFailedDueToIccidAlreadyExistsOnEuicc. */
const IS_THERE_ALREADY = 9

const expire: Rule<'expire'> = (row, _event, terms) =>
  terms.canExpire && terms.nowMs >= row.expires_at_ms
    ? { row: changed(row, terms, { state: 'expired' }) }
    : { row }
const revoke: Rule<'revoke'> = (row, _event, terms) => ({ row: changed(row, terms, { state: 'revoked' }) })

/** A profile that may be downloaded: `released`, or `downloaded` by the eUICC that it is bound to. */
const OPEN: Rules = {
  attempt: (row, event, terms) => {
    const refusal = openRefusal(row, event.sim, terms)
    if (refusal !== undefined) return { row, refusal }
    if (row.attempts < terms.maxDownloads) return { row: changed(row, terms, { attempts: row.attempts + 1 }) }
    return { row: failed(row, terms, 'too many attempts to download'), refusal: 'too_many' }
  },
  deliver: (row, event, terms) => {
    const refusal = openRefusal(row, event.sim, terms)
    if (refusal !== undefined) return { row, refusal }
    const bound = { eid_hash: event.eid, eid_last4: event.eidLast4 }
    const downloads = row.downloads + 1
    return {
      row: changed(row, terms, { ...bound, state: 'downloaded', downloads, confirmation_attempts: 0 }),
    }
  },
  // SGP.22 §3.1.6: whoever ordered the profile decides what to order instead.
  ineligible: (row, _event, terms) => ({
    row: failed(row, terms, 'the device cannot take this profile'),
    refusal: 'not_eligible',
  }),
  wrong_confirmation: (row, _event, terms) => {
    const confirmation_attempts = row.confirmation_attempts + 1
    const counted = { ...row, confirmation_attempts }
    if (confirmation_attempts < terms.maxConfirmationAttempts)
      return {
        row: changed(counted, terms, { last_error: 'wrong confirmation code' }),
        refusal: 'confirmation_refused',
      }
    return {
      row: failed(counted, terms, 'too many wrong confirmation codes'),
      refusal: 'confirmation_exceeded',
    }
  },
  cancel: (row, { reason }, terms) => {
    const last_error = `cancelled on the device: ${CANCEL_WORDS[reason] ?? `reason ${reason}`}`
    return {
      row: POSTPONED.has(reason) ? changed(row, terms, { last_error }) : failed(row, terms, last_error),
    }
  },
  expire,
  revoke,
}

const installed: Rule<'installed'> = (row, _event, terms) => ({
  row: changed(row, terms, { state: 'installed', attempts: 0, last_error: null }),
})
/** Deleted on its device: it can be downloaded there again unless it was for one time. */
const deleted: Rule<'deleted'> = (row, _event, terms) => ({
  row: changed(row, terms, {
    state: row.single_use === 1 ? 'installed' : 'released',
    attempts: 0,
    last_error: null,
  }),
})

/** What each state does with each event. What is not there is refused, or changes nothing. */
const TABLE: Readonly<Record<CodeState, Rules>> = {
  allocated: {
    confirm: (row, _event, terms) => ({ row: changed(row, terms, { state: 'confirmed' }) }),
    expire,
    revoke,
  },
  confirmed: {
    release: (row, _event, terms) => ({ row: changed(row, terms, { state: 'released' }) }),
    expire,
    revoke,
  },
  released: OPEN,
  downloaded: {
    ...OPEN,
    installed,
    deleted,
    install_failed: (row, event, terms) => {
      const last_error = `the device could not install it: reason ${event.reason}`
      if (TEMPORARY.has(event.reason)) return { row: changed(row, terms, { last_error }) }
      // Delivered before, and what told of its installation was lost: it is there.
      if (event.reason === IS_THERE_ALREADY && row.downloads > 1)
        return installed(row, { ...event, kind: 'installed' }, terms)
      return { row: failed(row, terms, last_error) }
    },
  },
  installed: { deleted, revoke },
  // A phone tells of an installation when it can: that is true whatever was thought of it meanwhile.
  error: { installed, revoke },
  expired: { installed, revoke },
  revoked: {},
}

/** SGP.22 §5.7.14. */
const CANCEL_WORDS: Readonly<Record<number, string>> = {
  0: 'refused by its user',
  1: 'postponed',
  2: 'its user did not answer',
  3: 'its policy rules are not allowed',
  4: 'the metadata do not fit',
  5: 'the profile could not be loaded',
}

/**
 * What becomes of a code by an event: pure, and the one place where codes change their state.
 *
 * Of a code that is bound to an eUICC others move nothing: their downloads are refused with `other_eid`, and anything
 * else of theirs changes nothing. A download that is refused is not counted as an attempt.
 */
export function move(row: CodeRow, event: CodeEvent, terms: Terms): Move {
  if (row.state === 'revoked') return isDownload(event) ? { row, refusal: 'matching_id' } : { row }
  if ('eid' in event && row.eid_hash !== null && row.eid_hash !== event.eid)
    return isDownload(event) ? { row, refusal: 'other_eid' } : { row }
  // The table has a rule of a kind under that kind alone.
  const rule = TABLE[row.state][event.kind] as Rule<Kind> | undefined
  if (rule !== undefined) return rule(row, event, terms)
  // Facts section 1.2.
  const refusal = row.state === 'expired' ? 'order_expired' : 'not_released'
  return isDownload(event) ? { row, refusal } : { row }
}

function isDownload({ kind }: CodeEvent): boolean {
  return kind === 'attempt' || kind === 'deliver' || kind === 'wrong_confirmation'
}

function openRefusal(row: CodeRow, sim: Deliverability, terms: Terms): RefusalName | undefined {
  if (terms.canExpire && terms.nowMs >= row.expires_at_ms) return 'order_expired'
  if (sim === 'deliverable') return undefined
  return sim === 'expired' ? 'order_expired' : 'matching_id'
}

function failed(row: CodeRow, terms: Terms, last_error: string): CodeRow {
  return changed(row, terms, { state: 'error', last_error })
}

function changed(row: CodeRow, terms: Terms, to: Partial<CodeRow>): CodeRow {
  return { ...row, ...to, changed_at_ms: terms.nowMs }
}

/**
 * Whether the profile of a SIM may be delivered. One that is suspended may be: it is blocked in the HSS, and works as soon as
 * it is let on again. One that is revoked or gone never is.
 */
export function deliverability(view: SubscriberView | undefined): Deliverability {
  if (view === undefined || view.state === 'revoked') return 'gone'
  return view.state === 'expired' ? 'expired' : 'deliverable'
}
