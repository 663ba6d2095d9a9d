/** A line of the AMF's log. */
export interface Entry {
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
export function* entriesOf(log: string): Generator<Entry> {
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
