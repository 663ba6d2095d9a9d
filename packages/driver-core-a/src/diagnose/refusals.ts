import type { Imsi, UeAttempt, UeRefusal } from '@steeple/contracts'

/** A line of a daemon's log about one phone, or one that does not say about whom. */
interface Entry {
  /** To the second, and to the millisecond. */
  readonly at: string | undefined
  readonly exactly: string
  readonly text: string
}

type Meaning = 'success' | { readonly refusal: UeRefusal; readonly detail: string }

/** Whom a line without a name is about. */
type Whose = 'ours' | 'others' | 'unknown'

/** What a log says of one phone: an attempt, or that one succeeded. */
interface Told {
  readonly attempt: UeAttempt | undefined
  readonly exactly: string
}

/** `11/20 12:19:24.366: [mme] INFO: …`, with colours as a terminal has them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
export const COLOURS: RegExp = /\u001b\[[0-9;]*m/g
const LINE = /^(?:(\d{2}\/\d{2} \d{2}:\d{2}:\d{2})(\.\d+)?: )?\[[a-z0-9]+\] [A-Z]+: (.*)$/
/** An identity in brackets, as all daemons write it, with or without a session behind it. SUCI: TS 23.003 §28.7.3, null scheme. */
const IDENTITY = /\[(?:imsi-|suci-0-(\d{3})-(\d{2,3})-\d+-0-0-)?(\d{5,15})(?::\d+)*\]/
/** Attempts that are told; who tries every 10 s would fill the list. */
const MOST_ATTEMPTS = 5

/** EMM causes (TS 24.301 §9.9.3.9) and their 5GMM twins (TS 24.501 §9.11.3.2), as far as they have another meaning here. */
const CAUSES: Readonly<Record<number, UeRefusal>> = {
  2: 'unknown_subscriber',
  3: 'not_allowed',
  5: 'not_allowed',
  6: 'not_allowed',
  7: 'not_allowed',
  8: 'unknown_subscriber',
  11: 'wrong_network',
  12: 'wrong_area',
  13: 'wrong_area',
  14: 'wrong_network',
  15: 'wrong_area',
  19: 'wrong_apn',
  20: 'wrong_keys',
  21: 'out_of_step',
  26: 'wrong_keys',
  27: 'not_allowed',
  // No network slices available: the subscription has none.
  62: 'not_allowed',
  90: 'wrong_apn',
  91: 'wrong_apn',
}

const CAUSE_LINES: readonly RegExp[] = [
  /(?:Attach|TAU) reject \[OGS_NAS_EMM_CAUSE:(\d+)\]/,
  /OGS_NAS_EMM_CAUSE\[(\d+)\]/,
  /Registration reject \[(\d+)\]/,
  /Authentication failure \[(\d+)\]/,
]
const SUCCESS =
  /\] (?:Attach complete|Registration complete)|\] \/nsmf-pdusession\/v1\/sm-contexts\/\{smContextRef\}\/modify/
/** Lines that name the phone and say more than the cause that follows them. */
const NAMED: readonly (readonly [RegExp, UeRefusal, string])[] = [
  [/Cannot find SUCI \[404\]/, 'unknown_subscriber', 'the HSS does not know it'],
  [
    /No Slice in Subscription DB/,
    'not_allowed',
    'the HSS has no service for it (blocked, or without a slice)',
  ],
  [/\] MAC failure/, 'wrong_keys', 'its card has other keys than the HSS'],
  // Behind the line that says why, which may name nobody.
  [/\] Failure in transaction; restoring context/, 'other', 'it was refused, and stays as it was before'],
  [
    /Ue requested DNN ".*" Not Supported OR Not Subscribed/,
    'wrong_apn',
    'it asked for an APN that its subscription does not have',
  ],
  [
    /Too many authentication synch failures/,
    'out_of_step',
    'the sequence numbers of card and HSS are out of step',
  ],
]
/** Where one comes whom the daemon has not named yet. */
const NEWCOMER = /^InitialUEMessage/
/** Lines that name nobody and may come before their phone is named. */
const BEFORE_NAMES: readonly (readonly [RegExp, UeRefusal, string])[] = [
  [
    /Cannot find Served TAI\[/,
    'wrong_area',
    'its cell is in a tracking area or network that the core does not serve',
  ],
  [/Rejected by PLMN-ID access control/, 'wrong_network', 'its home network is not let in'],
]
/** Lines that name nobody, and what they mean. */
const NAMELESS: readonly (readonly [RegExp, UeRefusal, string])[] = [
  ...BEFORE_NAMES,
  [/Invalid APN\[/, 'wrong_apn', 'it asked for an APN that its subscription does not have'],
  [/handle_authentication_response\(\) failed/, 'wrong_keys', 'its card has other keys than the HSS'],
  [
    /no_ULA-Flags/,
    'unanswered',
    'the HSS has no service for it (blocked, or without a slice), and the core did not answer',
  ],
]

/**
 * The failed attempts of one phone since its last success, newest first, in the logs of a core's daemons.
 *
 * Lines with its IMSI (or the SUCI of the null scheme) are its own. A line without any identity is taken for the last one
 * named before, which is how these daemons write, and is marked as not certain. The AMF refuses for the tracking area and for
 * the home network before it names the phone: such a line concerns whoever is asked about, and is as uncertain. Logs have no
 * year: over its turn the order of two daemons' attempts is lost.
 */
export function refusalsIn(logs: readonly string[], imsi: Imsi): readonly UeAttempt[] {
  const told = logs.flatMap((log) => toldOf(log, imsi))
  told.sort((a, b) => (a.exactly < b.exactly ? -1 : a.exactly > b.exactly ? 1 : 0))
  const last = told.findLastIndex(({ attempt }) => attempt === undefined)
  const attempts = told.slice(last + 1).flatMap(({ attempt }) => attempt ?? [])
  return explained(attempts).reverse().slice(0, MOST_ATTEMPTS)
}

/** What a line says of whichever phone it names: its digits, and whether it got on, or why not. */
export function saidOf(
  raw: string,
): { readonly who: string; readonly meaning: 'success' | { readonly detail: string } } | undefined {
  const text = textOf(raw)
  const [whole, mcc = '', mnc = '', digits = ''] = IDENTITY.exec(text ?? '') ?? []
  const meaning = whole === undefined ? undefined : meaningOf(text ?? '')
  return meaning === undefined ? undefined : { who: mcc + mnc + digits, meaning }
}

/** Why the core has taken no base station, when its log says nothing newer of one; undefined otherwise. */
export function refusedRadioIn(log: string): string | undefined {
  let words: string | undefined
  let isNext = false
  for (const raw of log.split('\n')) {
    const text = entryOf(raw)?.text ?? ''
    if (isNext) words = REFUSED_RADIO.find(([pattern]) => pattern.test(text))?.[1]
    isNext = /(?:S1|NG)-Setup failure:/.test(text)
    if (/InitialUEMessage/.test(text)) words = undefined
  }
  return words
}

const REFUSED_RADIO: readonly (readonly [RegExp, string])[] = [
  [/Cannot find Served TAI/, 'its tracking area or network is not one that the core serves'],
  [/PLMN-ID is foreign/, 'it is of another network'],
  [/Cannot find S_NSSAI/, 'it serves none of the slices of the core'],
  [/Maximum number of/, 'the core takes no more base stations'],
]

function toldOf(log: string, imsi: Imsi): readonly Told[] {
  const told: Told[] = []
  let whose: Whose = 'others'
  for (const raw of log.split('\n')) {
    const entry = entryOf(raw)
    if (entry === undefined) continue
    const named = identityIn(entry.text, imsi)
    whose = named ?? (NEWCOMER.test(entry.text) ? 'unknown' : whose)
    const meaning = named === 'ours' ? meaningOf(entry.text) : namelessIn(entry.text, named ?? whose)
    if (meaning === undefined) continue
    const { at, exactly } = entry
    const attempt = meaning === 'success' ? undefined : { ...meaning, at, isCertain: named !== undefined }
    told.push({ attempt, exactly })
  }
  return told
}

/** What a line without a name means for the phone, by whom it was about before. */
function namelessIn(text: string, whose: Whose): Meaning | undefined {
  if (whose === 'others') return undefined
  return meaningIn(whose === 'unknown' ? BEFORE_NAMES : NAMELESS, text)
}

function entryOf(raw: string): Entry | undefined {
  const [, at, fraction = '', text] = LINE.exec(raw.replaceAll(COLOURS, '').trimEnd()) ?? []
  return text === undefined ? undefined : { at, exactly: `${at ?? ''}${fraction}`, text }
}

/** What a line says behind its time, daemon and level; undefined for what is no line of a daemon. */
export function textOf(raw: string): string | undefined {
  return entryOf(raw)?.text
}

function identityIn(text: string, imsi: Imsi): 'ours' | 'others' | undefined {
  const [whole, mcc = '', mnc = '', digits = ''] = IDENTITY.exec(text) ?? []
  if (whole === undefined) return undefined
  return mcc + mnc + digits === imsi ? 'ours' : 'others'
}

function meaningOf(text: string): Meaning | undefined {
  if (SUCCESS.test(text)) return 'success'
  for (const pattern of CAUSE_LINES) {
    const cause = pattern.exec(text)?.[1]
    if (cause === undefined) continue
    const refusal = CAUSES[Number(cause)] ?? 'other'
    return { refusal, detail: `${WORDS[refusal]} (cause ${cause})` }
  }
  return meaningIn(NAMED, text)
}

function meaningIn(
  patterns: readonly (readonly [RegExp, UeRefusal, string])[],
  text: string,
): Meaning | undefined {
  for (const [pattern, refusal, detail] of patterns) if (pattern.test(text)) return { refusal, detail }
  return undefined
}

/** A reject that follows its own explanation is the same attempt: the first one says more, and the phone is named where one does. */
function explained(attempts: readonly UeAttempt[]): UeAttempt[] {
  const found: UeAttempt[] = []
  for (const attempt of attempts) {
    const before = found.at(-1)
    if (before?.at === undefined || before.at !== attempt.at) found.push(attempt)
    else found.splice(-1, 1, { ...before, isCertain: before.isCertain || attempt.isCertain })
  }
  return found
}

const WORDS: Readonly<Record<UeRefusal, string>> = {
  unknown_subscriber: 'the HSS did not know it, or did not answer',
  wrong_keys: 'its card has other keys than the HSS',
  out_of_step: 'the sequence numbers of card and HSS are out of step',
  wrong_apn: 'it asked for an APN that it may not use',
  wrong_area: 'its cell is in a tracking area that the core does not serve or it may not use',
  wrong_network: 'the network does not take it',
  not_allowed: 'the network does not let it in',
  unanswered: 'the core did not answer it',
  other: 'it was refused',
}
