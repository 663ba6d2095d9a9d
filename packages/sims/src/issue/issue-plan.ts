import {
  type ErrorDetail,
  type Imsi,
  msFromDuration,
  msFromTimestamp,
  plmnMismatch,
  validationFailed,
} from '@steeple/contracts'
import { apnProblem, formatPlmn, imsiFrom, isImsiOf, type Plmn, parseImsi } from '@steeple/telecom'
import type { SimsConfig } from '../config.ts'
import { apnsOf, type SimRow } from '../store/sim-row.ts'
import type { IssueBody } from './issue-schema.ts'

/** What is to be issued, once the parts of a body fit each other. */
export interface IssuePlan {
  readonly count: number
  readonly profile: string
  readonly apns: readonly string[]
  readonly expiresAtMs: number
  readonly downlinkBps: number
  readonly uplinkBps: number
  readonly quotaBytes: number | null
  readonly msisdn: string | null
  readonly label: string | null
  /** The IMSIs asked for; undefined when they are to be drawn. */
  readonly imsis: readonly Imsi[] | undefined
  readonly plmn: Plmn
  /** When it was asked for. */
  readonly nowMs: number
}

/** What a plan depends on besides the body. `replaced`: the SIM whose place the new one takes. */
export interface PlanFacts {
  readonly plmn: Plmn
  readonly policyApns: readonly string[]
  readonly config: SimsConfig
  readonly nowMs: number
  readonly replaced: SimRow | undefined
}

/** Years ahead that an expiry may lie. */
const MAX_LIFE_MS = 100 * 31_536_000_000

/** Checks what the schema cannot. Throws `validation_failed` with every broken rule, `plmn_mismatch`. */
export function issuePlan(body: IssueBody, facts: PlanFacts): IssuePlan {
  const { config, plmn, replaced, nowMs } = facts
  const count = body.count ?? 1
  const details = [...combinationProblems(body, count)]
  const apns = body.apns ?? (replaced === undefined ? facts.policyApns : apnsOf(replaced))
  details.push(...apnProblems(apns, facts.policyApns))
  const expiresAtMs = expiryOf(body, facts)
  if (expiresAtMs === undefined || expiresAtMs <= nowMs || expiresAtMs > nowMs + MAX_LIFE_MS)
    details.push({
      pointer: body.expires_at === undefined ? '/expires_in' : '/expires_at',
      message: 'must lie in the future, at most 100 years',
    })
  const imsis = askedImsis(body, count, plmn, details)
  if (details.length > 0 || expiresAtMs === undefined)
    throw validationFailed(details.map(({ pointer, message }) => `${pointer} ${message}`).join('; '), {
      details,
    })
  return {
    count,
    plmn,
    nowMs,
    imsis,
    apns,
    expiresAtMs,
    profile: body.profile ?? replaced?.profile ?? 'default',
    downlinkBps: body.ambr?.downlink_bps ?? replaced?.downlink_bps ?? config.default_downlink_bps,
    uplinkBps: body.ambr?.uplink_bps ?? replaced?.uplink_bps ?? config.default_uplink_bps,
    quotaBytes: body.quota_bytes ?? replaced?.quota_bytes ?? null,
    msisdn: body.msisdn ?? replaced?.msisdn ?? null,
    label: body.label ?? replaced?.label ?? null,
  }
}

const FOR_ONE = ['imsi', 'msisdn', 'replaces'] as const

function* combinationProblems(body: IssueBody, count: number): Generator<ErrorDetail> {
  for (const key of FOR_ONE)
    if (count > 1 && body[key] !== undefined)
      yield { pointer: `/${key}`, message: `is for one SIM, and count is ${count}` }
  if (body.imsi !== undefined && body.msin_start !== undefined)
    yield { pointer: '/msin_start', message: 'cannot go with imsi' }
  if (body.expires_in !== undefined && body.expires_at !== undefined)
    yield { pointer: '/expires_at', message: 'cannot go with expires_in' }
}

/** More APNs of one subscriber stop the HSS of a core. */
const APNS_MAX = 4

/** What is wrong with the APNs of a SIM: too many, not an APN, or not one of the policy's. */
export function apnProblems(apns: readonly string[], policyApns: readonly string[]): readonly ErrorDetail[] {
  if (apns.length > APNS_MAX) {
    const message = `has ${apns.length} APNs; a SIM has at most ${APNS_MAX}, so name which of the policy's it gets`
    return [{ pointer: '/apns', message }]
  }
  return apns.flatMap((apn, i) => {
    const syntax = apnProblem(apn)
    if (syntax !== undefined) return [{ pointer: `/apns/${i}`, message: syntax }]
    if (policyApns.includes(apn)) return []
    return [
      { pointer: `/apns/${i}`, message: `"${apn}" is none of the policy's APNs (${policyApns.join(', ')})` },
    ]
  })
}

function expiryOf(body: IssueBody, { config, nowMs }: PlanFacts): number | undefined {
  if (body.expires_at !== undefined) return msFromTimestamp(body.expires_at)
  const livesMs = msFromDuration(body.expires_in ?? config.default_expiry)
  return livesMs === undefined ? undefined : nowMs + livesMs
}

function askedImsis(
  body: IssueBody,
  count: number,
  plmn: Plmn,
  details: ErrorDetail[],
): readonly Imsi[] | undefined {
  if (body.imsi !== undefined) {
    const imsi = parseImsi(body.imsi)
    if (imsi === undefined || !isImsiOf(plmn, imsi))
      throw plmnMismatch(`the IMSI is not one of the network ${formatPlmn(plmn)}`, {
        details: [{ pointer: '/imsi', message: `must begin with ${plmn.mcc}${plmn.mnc}` }],
      })
    return [imsi]
  }
  if (body.msin_start === undefined) return undefined
  const imsis = imsisFrom(plmn, body.msin_start, count)
  if (imsis === undefined)
    details.push({
      pointer: '/msin_start',
      message: `has no room for ${count} numbers in ${formatPlmn(plmn)}`,
    })
  return imsis
}

/** `count` IMSIs in a row, their numbers as long as the network allows; undefined when they do not fit. */
function imsisFrom(plmn: Plmn, msinStart: string, count: number): readonly Imsi[] | undefined {
  const digits = msinDigits(plmn)
  const first = Number(msinStart)
  if (msinStart.length > digits || first + count - 1 >= 10 ** digits) return undefined
  const imsis = Array.from({ length: count }, (_, i) =>
    imsiFrom(plmn, String(first + i).padStart(digits, '0')),
  )
  return imsis.every((imsi) => imsi !== undefined) ? imsis : undefined
}

/** How many digits a subscriber number has. TS 23.003 §2.2. */
export function msinDigits(plmn: Plmn): number {
  return 15 - plmn.mcc.length - plmn.mnc.length
}
