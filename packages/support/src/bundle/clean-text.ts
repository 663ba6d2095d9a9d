/** Takes what is secret out of a text: the kernel's own rules. */
export type Scrub = (text: string) => string

/** A text longer than this loses its end. */
const LONGEST = 4_096
/** Stands for what is not shown of a text. */
export const LEFT_OUT = '[left out]'

/** A URL and what hangs on it, up to the next blank. */
const URLS = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)(\S*)/gi
/** Host and port, behind credentials that have no sign of their own in them. */
const HOST =
  /^(?:[^\s/?#"'<>@]*@)?((?:[\w.-]+|\[[0-9a-f:.]*\]|…|\[redacted\])(?::\d{1,5})?)(?=[/?#"'<>),;:\]`]|$)/i
/** RFC 5321 §4.1.2, as people write them. */
const MAILS = /[^\s"'<>()[\],;:@]+@[^\s"'<>()[\],;:@]+\.[^\s"'<>()[\],;:@]+/g
/** An MSISDN, an ICCID or an IMSI: 9 digits and more, E.164 numbers begin there. */
const NUMBERS = /(?<!\d|\d\.|\b[0-9a-f]{1,64})\+?\d{9,}(?![\da-f]|\.\d)/gi
/** An absolute path: its folders may be somebody's home, its name somebody's. Routes of the API are none. */
const PATHS = /(?<![\w:/.])\/(?!v1\/)(?:[^\s/'";,:()`]+\/)+[^\s/'";,:()`]*/g
/** A key that a configuration must not have: somebody's line without its colon. Said behind a place, or at the start of a line. */
const UNKNOWN_KEYS = /^(.*?:\d+:\d+: )?.* is no key of the configuration/gm
/** What stands in quotes may be what somebody typed. */
const QUOTED = /"[^"]*"/g

/**
 * A text for somebody outside: without secrets, of URLs scheme and host alone, without addresses of e-mail, long numbers,
 * paths of files and what is quoted.
 */
export function cleanText(text: string, scrub: Scrub): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  return scrub(short)
    .replaceAll(URLS, (_, scheme: string, rest: string) => `${scheme}${hostOf(rest)}`)
    .replaceAll(MAILS, LEFT_OUT)
    .replaceAll(NUMBERS, LEFT_OUT)
    .replaceAll(PATHS, `/${LEFT_OUT}`)
    .replaceAll(UNKNOWN_KEYS, '$1… is no key of the configuration')
    .replaceAll(QUOTED, '"…"')
}

/** What ends a URL in a sentence; inside of one it may be a part of a secret. */
const BEHIND = /(?:["'<>].*|[),.;:\]`]+)$/

/** The host of what follows a scheme, and what follows the URL. A webhook's path may be its password. */
function hostOf(rest: string): string {
  // A sentence about URLs names none.
  if (/^[)\]"'`,;.]*$/.test(rest)) return rest
  const found = HOST.exec(rest)
  if (found === null) return LEFT_OUT
  const behind = rest.slice(found[0].length)
  // A password may have signs in it that end a host.
  if (behind.includes('@')) return LEFT_OUT
  return `${found[1]}${BEHIND.exec(behind)?.[0] ?? ''}`
}
