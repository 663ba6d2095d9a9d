import { readFile } from 'node:fs/promises'
import {
  capacityExceeded,
  configInvalid,
  type ErrorDetail,
  fieldsRefused,
  type Imsi,
  type ImsiHash,
  msFromDuration,
  msFromTimestamp,
  plmnMismatch,
  simExists,
  timestampFromMs,
} from '@steeple/contracts'
import {
  apnProblem,
  formatPlmn,
  imsiFrom,
  imsiHash,
  isImsiOf,
  luhnCheckDigit,
  opcFrom,
  type Plmn,
  parseImsi,
} from '@steeple/telecom'
import type { BatchRow, NewCard } from '../batches.ts'
import type { SimsConfig } from '../config.ts'
import type { SimsParts } from '../parts.ts'
import { firstHss } from '../provision/hss-breaker.ts'
import {
  ascii,
  type Card,
  drawDigits,
  drawOctets,
  octetsFromHex,
  sealSim,
  wipe,
  wipeCard,
} from '../secrets/card.ts'
import type { IccidMac } from '../secrets/iccid-index.ts'
import { apnsOf, FRESH, type SimRow, takenAmong } from '../store/sim-store.ts'
import { type IssueBody, LABEL_CHARACTERS } from './issue-schema.ts'

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
  /** Of the batch; its SIMs have numbers behind it. */
  readonly label: string | null
  /** The IMSIs asked for; undefined when they are to be drawn. */
  readonly imsis: readonly Imsi[] | undefined
  readonly plmn: Plmn
  /** When it was asked for. */
  readonly nowMs: number
}

/** What a plan depends on besides the body. `replaced`: the SIM whose place the new one takes. */
interface PlanFacts {
  readonly plmn: Plmn
  readonly policyApns: readonly string[]
  readonly config: SimsConfig
  readonly nowMs: number
  readonly replaced: SimRow | undefined
}

/** Years ahead that an expiry may lie. */
const MAX_LIFE_MS = 100 * 31_536_000_000
/** What an expiry must be that `isExpiry` refuses. */
export const EXPIRY_RULE = 'must lie in the future, at most 100 years'

/** Whether a SIM may expire then. */
export function isExpiry(ms: number | undefined, nowMs: number): ms is number {
  return ms !== undefined && ms > nowMs && ms <= nowMs + MAX_LIFE_MS
}

/** Checks what the schema cannot. Throws `validation_failed` with every broken rule, `plmn_mismatch`. */
export function issuePlan(body: IssueBody, facts: PlanFacts): IssuePlan {
  const { config, plmn, replaced, nowMs } = facts
  const count = body.count ?? 1
  const details = [...combinationProblems(body, count)]
  const apns = body.apns ?? (replaced === undefined ? facts.policyApns : apnsOf(replaced))
  details.push(...apnProblems(apns, facts.policyApns))
  const expiresAtMs = expiryOf(body, facts)
  if (!isExpiry(expiresAtMs, nowMs))
    details.push({
      pointer: body.expires_at === undefined ? '/expires_in' : '/expires_at',
      message: EXPIRY_RULE,
    })
  const imsis = askedImsis(body, count, plmn, details)
  if (details.length > 0 || expiresAtMs === undefined) throw fieldsRefused(details)
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
  const room = LABEL_CHARACTERS - ` ${count}`.length
  if (count > 1 && (body.label ?? '').length > room)
    yield {
      pointer: '/label',
      message: `must have at most ${room} characters: ${count} SIMs are numbered behind it`,
    }
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
      throw plmnMismatch(
        `the IMSI is not one of the network ${formatPlmn(plmn)}; choose one that begins with it`,
        {
          details: [{ pointer: '/imsi', message: `must begin with ${plmn.mcc}${plmn.mnc}` }],
        },
      )
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
function msinDigits(plmn: Plmn): number {
  return 15 - plmn.mcc.length - plmn.mnc.length
}

/**
 * Country calling codes (ITU-T E.164) with the mobile country codes (E.212) of who has them: `49:262`. French Antilles count as
 * Guadeloupe; shared and test codes (901, 999, 001) have none.
 */
const CALLING_CODES = `
1:302,310,311,312,313,314,315,316,330,332,338,342,344,346,348,350,352,354,356,358,360,364,365,366,370,374,376,534,535,544
7:250,401 20:602 27:655 30:202 31:204 32:206 33:208 34:214 36:216 39:222,225 40:226 41:228 43:232 44:234,235 45:238 46:240
47:242 48:260 49:262 51:716 52:334 53:368 54:722 55:724 56:730 57:732 58:734 60:502 61:505 62:510 63:515 64:530 65:525 66:520
81:440,441 82:450 84:452 86:460,461 90:286 91:404,405,406 92:410 93:412 94:413 95:414 98:432 211:659 212:604 213:603 216:605
218:606 220:607 221:608 222:609 223:610 224:611 225:612 226:613 227:614 228:615 229:616 230:617 231:618 232:619 233:620 234:621
235:622 236:623 237:624 238:625 239:626 240:627 241:628 242:629 243:630 244:631 245:632 248:633 249:634 250:635 251:636 252:637
253:638 254:639 255:640 256:641 257:642 258:643 260:645 261:646 262:647 263:648 264:649 265:650 266:651 267:652 268:653 269:654
290:658 291:657 297:363 298:288 299:290 350:266 351:268 352:270 353:272 354:274 355:276 356:278 357:280 358:244 359:284 370:246
371:247 372:248 373:259 374:283 375:257 376:213 377:212 378:292 380:255 381:220 382:297 383:221 385:219 386:293 387:218 389:294
420:230 421:231 423:295 500:750 501:702 502:704 503:706 504:708 505:710 506:712 507:714 508:308 509:372 590:340 591:736 592:738
593:740 594:742 595:744 597:746 598:748 599:362 670:514 673:528 674:536 675:537 676:539 677:540 678:541 679:542 680:552 681:543
682:548 683:555 685:549 686:545 687:546 688:553 689:547 690:554 691:550 692:551 850:467 852:454 853:455 855:456 856:457 880:470
886:466 960:472 961:415 962:416 963:417 964:418 965:419 966:420 967:421 968:422 971:424,430,431 972:425 973:426 974:427 975:402
976:428 977:429 992:436 993:438 994:400 995:282,289 996:437 998:434`
/** Digits that an issuer identification number has at most. ITU-T E.118 §4.1. */
const ISSUER_DIGITS = 7

/** The country calling codes by mobile country code. */
const CALLING_CODE_OF: ReadonlyMap<string, string> = new Map(
  CALLING_CODES.trim()
    .split(/\s+/)
    .flatMap((entry) => {
      const [code = '', ...mccs] = entry.split(/[:,]/)
      return mccs.map((mcc) => [mcc, code] as const)
    }),
)

/**
 * What ICCIDs of a network begin with: 89, the country calling code, and the network as its issuer. A network of no country has its
 * MCC there: such numbers are nobody's. ITU-T E.118 §4.1.
 */
export function iccidIssuer({ mcc, mnc }: Plmn): string {
  const code = CALLING_CODE_OF.get(mcc)
  if (code === undefined) return `89${mcc}${mnc.padStart(3, '0')}`
  const digits = ISSUER_DIGITS - 2 - code.length
  return `89${code}${mnc.padStart(digits, '0').slice(-digits)}`
}

const KEY_OCTETS = 16
const ICCID_DIGITS = 19

/** An IMSI of the network with a random subscriber number. */
export function drawImsi(plmn: Plmn): Imsi {
  const msin = Buffer.from(drawDigits(msinDigits(plmn))).toString('ascii')
  const imsi = imsiFrom(plmn, msin)
  if (imsi === undefined) throw new RangeError('the network leaves no digits for subscriber numbers')
  return imsi
}

/** A new card: Ki, OPc from `op` (a random OP when absent), ICCID with its check digit, ADM1, PINs and PUKs. */
export function drawCard(plmn: Plmn, op: Uint8Array | undefined): Card {
  const ki = drawOctets(KEY_OCTETS)
  const ownOp = op ?? drawOctets(KEY_OCTETS)
  const opc = opcFrom(ki, ownOp)
  if (op === undefined) wipe(ownOp)
  return {
    ki,
    opc,
    iccid: drawIccid(plmn),
    adm1: drawDigits(8),
    pin1: drawDigits(4),
    puk1: drawDigits(8),
    pin2: drawDigits(4),
    puk2: drawDigits(8),
  }
}

/** The issuer, random digits, and the check digit: 19 digits. ITU-T E.118 §4. */
function drawIccid(plmn: Plmn): Uint8Array {
  const head = iccidIssuer(plmn)
  const body = head + Buffer.from(drawDigits(ICCID_DIGITS - 1 - head.length)).toString('ascii')
  return ascii(`${body}${luhnCheckDigit(body) ?? 0}`)
}

/** SIMs that are drawn and sealed, but not in the store yet. */
export interface DrawnSims {
  readonly rows: readonly SimRow[]
  readonly batch: BatchRow
}

/**
 * Draws and seals the SIMs of a plan. `replaced`: whose place the one takes; `issuer`: as a batch remembers it.
 * Throws `capacity_exceeded` when the network has too few free numbers, `sim_exists` for an IMSI that was asked for.
 */
export async function drawSims(
  parts: SimsParts,
  plan: IssuePlan,
  { replaced, issuer }: { readonly replaced: SimRow | undefined; readonly issuer: string },
): Promise<DrawnSims> {
  const { context, vault } = parts
  const numbers = plan.imsis === undefined ? await drawImsis(parts, plan) : await freeImsis(parts, plan.imsis)
  const op = await readOp(context.config.op_file)
  const cards = numbers.map((number) => ({ ...number, card: drawCard(plan.plmn, op) }))
  try {
    const { nowMs } = plan
    const id = batchId('b', nowMs)
    const mac = await parts.iccids.mac()
    const rows = cards.map((card, i) => newRow(parts, plan, card, { id, replaced, mac, place: i }))
    const batch: BatchRow = {
      id,
      created_at_ms: nowMs,
      sims: rows.length,
      profile: plan.profile,
      plmn: formatPlmn(plan.plmn),
      label: plan.label,
      key_sealed: vault.seal(new Uint8Array(), `sims_batch/${id}`),
      issued_by: issuer,
      files_at_ms: null,
    }
    return { rows, batch }
  } finally {
    for (const { card } of cards) wipeCard(card)
    if (op !== undefined) wipe(op)
  }
}

/** SIMs that are issued together are numbered: `village 01` to `village 10`. */
function labelOf({ label, count }: Pick<IssuePlan, 'label' | 'count'>, place: number): string | null {
  if (label === null || count === 1) return label
  return `${label} ${String(place + 1).padStart(String(count).length, '0')}`
}

/** The kind, the day, and 12 random letters and digits: `b-20261121-0123456789ab`. */
export function batchId(kind: 'b' | 'i', nowMs: number): string {
  const day = timestampFromMs(nowMs).slice(0, 10).replaceAll('-', '')
  return `${kind}-${day}-${[...drawOctets(12)].map((octet) => (octet % 32).toString(32)).join('')}`
}

/** An IMSI that no SIM has, with its hash. */
interface FreeNumber {
  readonly hash: ImsiHash
  readonly imsi: Imsi
}

/** Random IMSIs whose hashes clash neither with each other nor with a stored one. */
async function drawImsis({ context }: SimsParts, { count, plmn }: IssuePlan): Promise<readonly FreeNumber[]> {
  const drawn = new Map<ImsiHash, Imsi>()
  // A network with few numbers left must not keep the service busy for ever.
  for (let tries = 0; drawn.size < count && tries < count * 20 + 100; tries += count - drawn.size) {
    const imsis = Array.from({ length: count - drawn.size }, () => drawImsi(plmn))
    const taken = await takenAmong(context.db, imsis.map(imsiHash))
    for (const imsi of imsis) if (!taken.has(imsiHash(imsi))) drawn.set(imsiHash(imsi), imsi)
  }
  if (drawn.size < count)
    throw capacityExceeded(
      `the network ${formatPlmn(plmn)} has no ${count} free subscriber numbers; issue fewer SIMs`,
    )
  return [...drawn]
    .map(([hash, imsi]) => ({ hash, imsi }))
    .sort((one, other) => (one.imsi < other.imsi ? -1 : 1))
}

async function freeImsis({ context }: SimsParts, imsis: readonly Imsi[]): Promise<readonly FreeNumber[]> {
  const numbers = imsis.map((imsi) => ({ hash: imsiHash(imsi), imsi }))
  const taken = new Set(await takenAmong(context.db, imsis.map(imsiHash)))
  for (const { hash } of numbers) {
    if (taken.has(hash)) throw simExists(hash)
    taken.add(hash)
  }
  return numbers
}

function newRow(
  parts: SimsParts,
  plan: IssuePlan,
  { hash, imsi, card }: NewCard & FreeNumber,
  facts: {
    readonly id: string
    readonly replaced: SimRow | undefined
    readonly mac: IccidMac
    readonly place: number
  },
): SimRow {
  const iccid = Buffer.from(card.iccid).toString('ascii')
  return {
    ...FRESH,
    hash,
    plmn: formatPlmn(plan.plmn),
    profile: plan.profile,
    apns: JSON.stringify(plan.apns),
    downlink_bps: plan.downlinkBps,
    uplink_bps: plan.uplinkBps,
    quota_bytes: plan.quotaBytes,
    msisdn: plan.msisdn,
    label: labelOf(plan, facts.place),
    batch_id: facts.id,
    iccid_last4: iccid.slice(-4),
    iccid_mac: facts.mac(iccid),
    issued_at_ms: plan.nowMs,
    expires_at_ms: plan.expiresAtMs,
    swapped_at_ms: facts.replaced === undefined ? null : plan.nowMs,
    replaces: facts.replaced?.hash ?? null,
    ...sealSim(parts.vault, hash, imsi, card),
    ...firstHss(parts, plan.nowMs),
  }
}

/** The operator's OP from its file; undefined when none is configured. Throws `config_invalid`. */
async function readOp(path: string): Promise<Uint8Array | undefined> {
  if (path === '') return undefined
  const text = await readFile(path).catch((cause: unknown) => {
    throw configInvalid(`sims.op_file: ${path} cannot be read`, { cause })
  })
  const end = text.findLastIndex((char) => char > 0x20) + 1
  const op = octetsFromHex(text.subarray(0, end))
  wipe(text)
  if (op?.length !== 16) throw configInvalid(`sims.op_file: ${path} must hold 32 hexadecimal digits`)
  return op
}
