import type { CoreDriver, Imsi, UeAttempt, UeDiagnosis, UeRefusal } from '@steeple/contracts'
import {
  type AttachWords,
  type DaemonLogs,
  daemonLogs,
  type Engine,
  type SaidOfPhone,
  type SharedList,
} from '@steeple/southbound'
import { parseImsi } from '@steeple/telecom'

/** A line of the AMF's log. */
interface Entry {
  /** To the second, UTC, as the AMF has written it. */
  readonly at: string
  /** Under which number the AMF has the phone, when the line names one. */
  readonly number: string | undefined
  /** Digits of the IMSI behind the SUPI, or behind a SUCI of the null scheme. */
  readonly supi: string | undefined
  readonly suci: string | undefined
  /** The AMF came up: its numbers begin anew. */
  readonly isStart: boolean
  readonly text: string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
const COLOURS = /\u001b\[[0-9;]*m/g
/** A line without the colours that functions write also where no terminal is. */
export function plainLine(raw: string): string {
  return raw.replaceAll(COLOURS, '').trimEnd()
}
/** `2026-11-23T05:23:07.467425770Z [ERRO][AMF][Gmm][amf_ue_ngap_id:RU:1,AU:3(3GPP)][supi:SUPI:…] …` */
const LINE =
  /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\S*\s+\[[A-Z]{4}\]\[AMF\]\[(\w+)\]((?:\[[^\]]*\])*)\s?(.*)$/
const NUMBER = /\[amf_ue_ngap_id:RU:\d*,AU:(\d+)/
const SUPI = /\[supi:(?:SUPI:)?imsi-(\d{5,15})\]/
const SUCI = /^MobileIdentity5GS: SUCI\[suci-0-(\d{3})-(\d{2,3})-\d+-0-0-(\d+)\]/

/** The lines of a log that can be read, oldest first. Lines of a terminal have colours; what is no line is left out. */
function* entriesOf(log: string): Generator<Entry> {
  for (const raw of log.split('\n')) {
    const [, at, category, fields = '', text = ''] = LINE.exec(plainLine(raw)) ?? []
    if (at === undefined) continue
    const [, mcc, mnc, rest] = SUCI.exec(text) ?? []
    yield {
      at,
      number: NUMBER.exec(fields)?.[1],
      supi: SUPI.exec(fields)?.[1],
      suci: rest === undefined ? undefined : `${mcc}${mnc}${rest}`,
      isStart: category === 'Main' && text.startsWith('AMF version'),
      text,
    }
  }
}

/** What the AMF's log says of one phone. */
interface ToldOfPhone {
  /** Failed attempts since its last success, newest first. */
  readonly attempts: readonly UeAttempt[]
  /** Whether the log names it at all. */
  readonly isNamed: boolean
}

interface Reason {
  readonly refusal: UeRefusal
  readonly detail: string
}

/** A registration or a session that a phone has begun. */
interface Begun {
  readonly at: string
  told?: UeAttempt
  /** A line has said why. */
  isExplained: boolean
}

/** Attempts that are told; who tries every 10 s would fill the list. */
const MOST_ATTEMPTS = 5

const BEGUN = /^(?:MobileIdentity5GS: |Handle Service Request$)/
const SUCCESS = /^(?:Handle Registration Complete|create smContext\[pduSessionID: \d+\] Success)$/
/** What the AMF writes beside the phone's own numbers. Texts of 4.2.3; the first fits 3.4 as well. */
const NAMED: readonly (readonly [RegExp, UeRefusal, string])[] = [
  [
    /^Nausf_UEAU Authenticate Request (?:Error: 404|Failed: .*Status:404)/,
    'unknown_subscriber',
    'the UDM does not know it',
  ],
  [
    /^Nausf_UEAU Authenticate Request (?:Error: 403|Failed: .*Status:403)/,
    'not_allowed',
    'the UDM does not authenticate it (403): its keys in the database are not complete, or the network is not served',
  ],
  [/^Nausf_UEAU Authenticate Request/, 'other', 'AUSF or UDM failed while it was authenticated'],
  [/^AMF can not select an AUSF by NRF/, 'other', 'the AMF found no AUSF at the NRF'],
  [/^HRES\* Validation Failure/, 'wrong_keys', 'its card has other keys than the UDM'],
  [
    /^Authentication Failure Cause: Mac Failure/,
    'wrong_keys',
    'its card has other keys than the UDM (cause 20)',
  ],
  [
    /^Authentication Failure Cause: Non-5G Authentication Unacceptable/,
    'wrong_keys',
    'its card wants another authentication field (cause 26)',
  ],
  [
    /^Authentication Failure 5GMM Cause: Synch Failure/,
    'out_of_step',
    'the sequence numbers of card and UDM are out of step (cause 21)',
  ],
  [
    /^(?:SDM_Get .* Failed .*Status:404|communicateWithUDM error)/,
    'wrong_network',
    'the UDM has no subscription of it for this network',
  ],
  [
    /^(?:NSSelection Get Error|handle Requested Nssai of UE failed)/,
    'not_allowed',
    'no slice that it asks for is served here, or is its own',
  ],
  [/^Select SMF failed: DNN\[/, 'wrong_apn', 'it asked for an APN that its subscription does not have'],
  [
    /^CreateSmContextRequest Error: 403/,
    'not_allowed',
    'it is registered, and the SMF gives it no session (403): it is blocked, or has no such APN',
  ],
  [/^CreateSmContextRequest Error/, 'other', 'it is registered, and the SMF failed to give it a session'],
  [/^T3560 Expires \d+ times/, 'other', 'it left the network without an answer while it was authenticated'],
]
/** Lines that say less than one that comes before or after them. */
const BARE: readonly (readonly [RegExp, UeRefusal, string])[] = [
  [/^Send Authentication Reject/, 'wrong_keys', 'its authentication failed'],
  [/^Send Registration Reject/, 'other', 'the AMF refused its registration'],
]
/** What it writes of nobody; the phone is the last one that was named. */
const NAMELESS: readonly (readonly [RegExp, UeRefusal, string])[] = [
  [
    /^registration reject\[tracking area not allowed\]/,
    'wrong_area',
    'its cell is in a tracking area that the core does not serve (cause 12)',
  ],
]

/**
 * The failed attempts of one phone in the AMF's log. Lines are its own by its SUPI, or by the number that the AMF gave to
 * what came with its SUCI of the null scheme (TS 23.003 §28.7.3); of a concealed one nothing is known before the AMF has
 * the SUPI. One line of the AMF names nobody: it is taken for the last phone named, and marked as not certain.
 */
export function refusalsIn(log: string, imsi: Imsi): ToldOfPhone {
  const begun: Begun[] = []
  const owners = new Map<string, boolean>()
  let [isNamed, isOurs] = [false, false]
  for (const entry of entriesOf(log)) {
    if (entry.isStart) owners.clear()
    const owner = ownerOf(entry, imsi, owners)
    if (owner !== undefined) isOurs = owner
    if (!isOurs) continue
    isNamed = true
    take(begun, entry, owner !== undefined)
  }
  const attempts = begun.flatMap(({ told }) => told ?? [])
  return { attempts: attempts.reverse().slice(0, MOST_ATTEMPTS), isNamed }
}

/** Whether a line is about the phone; undefined when it names none. Remembers whom a number belongs to. */
function ownerOf(
  { number, supi, suci }: Entry,
  imsi: Imsi,
  owners: Map<string, boolean>,
): boolean | undefined {
  if (number === undefined) return undefined
  const name = supi ?? suci
  if (name !== undefined) owners.set(number, name === imsi)
  return owners.get(number) ?? false
}

function take(begun: Begun[], { at, text }: Entry, isCertain: boolean): void {
  if (SUCCESS.test(text)) {
    begun.length = 0
    return
  }
  const reason = meaningIn(isCertain ? NAMED : NAMELESS, text)
  const found = reason ?? (isCertain ? meaningIn(BARE, text) : undefined)
  // What fails after a success, a session, begins with its end.
  if (BEGUN.test(text) || (found !== undefined && begun.length === 0)) begun.push({ at, isExplained: false })
  const last = begun.at(-1)
  if (found === undefined || last === undefined || last.isExplained) return
  last.told = { ...found, at: last.at, isCertain }
  last.isExplained = reason !== undefined
}

function meaningIn(
  patterns: readonly (readonly [RegExp, UeRefusal, string])[],
  text: string,
): Reason | undefined {
  for (const [pattern, refusal, detail] of patterns) if (pattern.test(text)) return { refusal, detail }
  return undefined
}

/** Numbers of phones that are remembered: more than an AMF serves at a time. */
const MOST_NUMBERS = 10_000
const REGISTERED = /^Handle Registration Complete$/
/** What concerns sessions of phones that are on. */
const OF_SESSIONS = /^(?:Select SMF failed|CreateSmContextRequest)/

/**
 * Reads what the AMF says of phones that come, whoever they are: that one is registered, or why not. Of a concealed one nothing is known before
 * the AMF has its SUPI.
 */
export function registrationTeller(): (lines: readonly string[]) => readonly SaidOfPhone[] {
  const owners = new Map<string, string>()
  let who: string | undefined
  const name = ({ isStart, number, supi, suci }: Entry): void => {
    if (isStart) owners.clear()
    if (number === undefined) return
    who = supi ?? suci ?? owners.get(number)
    if (who !== undefined) owners.set(number, who)
    const [oldest = ''] = owners.keys()
    if (owners.size > MOST_NUMBERS) owners.delete(oldest)
  }
  return (lines) =>
    [...entriesOf(lines.join('\n'))].flatMap((entry): readonly SaidOfPhone[] => {
      name(entry)
      const { number, text } = entry
      if (who === undefined || OF_SESSIONS.test(text)) return []
      if (REGISTERED.test(text)) return [{ who, meaning: 'success' }]
      const detail = meaningIn(number === undefined ? NAMELESS : NAMED, text)?.detail
      const isBare = number !== undefined && meaningIn(BARE, text) !== undefined
      return detail === undefined && !isBare ? [] : [{ who, meaning: { detail } }]
    })
}

/** Why the AMF has taken no gNB, when its log says nothing newer of one; undefined otherwise. */
export function refusedRadioIn(log: string): string | undefined {
  let words: string | undefined
  for (const { text } of entriesOf(log)) {
    const refused = /^NG-Setup failure: (.*)/.exec(text)?.[1]
    if (refused !== undefined)
      words = REFUSED_RADIO.find(([pattern]) => pattern.test(refused))?.[1] ?? 'its set-up was not taken'
    if (/^Send NG-Setup response/.test(text)) words = undefined
  }
  return words
}

const REFUSED_RADIO: readonly (readonly [RegExp, string])[] = [
  [/Served TAI/, 'its tracking area or network is not one that the core serves'],
  [/[Ss]lice|S-?NSSAI/, 'it serves none of the slices of the core'],
]

/** The output of what runs the AMF. */
export function amfLogs(engine: Engine, containers: () => Readonly<Record<string, string>>): DaemonLogs {
  const remedy = 'name its container or unit in core_b.containers or core_b.units'
  return daemonLogs(engine, () => ({ runners: containers() }), remedy)
}

/** How the AMF writes of registrations. */
export const ATTACH_WORDS: AttachWords = {
  writers: () => ['amf'],
  tells: (text) => /\[INFO\]/.test(text),
  attachesIn: (lines) =>
    [...entriesOf(lines.join('\n'))].flatMap(({ supi, text }) =>
      supi === undefined || !REGISTERED.test(text) ? [] : (parseImsi(supi) ?? []),
    ),
}

/** A list of phones this old still says who is registered, ms. */
const LIST_AGE_MS = 1_000

/** `diagnose` of the driver: the AMF's list, and what it wrote about the phone. Throws when the AMF cannot be asked. */
export function diagnoser(list: SharedList, logs: DaemonLogs): NonNullable<CoreDriver['diagnose']> {
  return async (imsi, signal) => {
    const { registrations } = await list.recent(LIST_AGE_MS, signal)
    const one = registrations.find((registration) => registration.imsi === imsi)
    const listed = one === undefined ? undefined : `registered, ${one.isConnected ? 'connected' : 'idle'}`
    const log = await logs.tail('amf', signal)
    if ('problem' in log) return { state: listed, attempts: undefined, logProblem: `amf: ${log.problem}` }
    return { ...toldIn(log.text, imsi, listed), logProblem: undefined }
  }
}

function toldIn(
  log: string,
  imsi: Parameters<typeof refusalsIn>[1],
  listed: string | undefined,
): Pick<UeDiagnosis, 'state' | 'attempts' | 'refusedRadio'> {
  const { attempts, isNamed } = refusalsIn(log, imsi)
  // The AMF lists who is registered alone.
  return {
    state: listed ?? (isNamed ? 'not registered' : undefined),
    attempts,
    refusedRadio: refusedRadioIn(log),
  }
}
