/** Takes what is secret out of a text: the kernel's own rules. */
export type Scrub = (text: string) => string

/** A text longer than this loses its end. */
const LONGEST = 4_096
const LEFT_OUT = '[left out]'

/** Credentials, path, query and fragment of a URL: a webhook's path may be its password. */
const URLS = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/?#"'<>@]*@)?([^\s/?#"'<>@]*)[^\s"'<>]*/gi
/** RFC 5321 §4.1.2, as people write them. */
const MAILS = /[^\s"'<>()[\],;:@]+@[^\s"'<>()[\],;:@]+\.[^\s"'<>()[\],;:@]+/g
/** An MSISDN, an ICCID or an IMSI: 9 digits and more, E.164 numbers begin there. */
const NUMBERS = /(?<![\w.])\+?\d{9,}(?![\w.])/g

/**
 * A text for somebody outside: without secrets, of URLs scheme and host alone, without addresses of e-mail and long
 * numbers.
 */
export function cleanText(text: string, scrub: Scrub): string {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  return scrub(short).replaceAll(URLS, '$1$2').replaceAll(MAILS, LEFT_OUT).replaceAll(NUMBERS, LEFT_OUT)
}
