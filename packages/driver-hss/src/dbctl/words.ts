import type { Ran } from './run-tool.ts'

/** The longest text that is handed on. */
const WORDS_MAX = 160
/** A line of mongosh that names an error. No line of a shown document begins so. */
const ERROR_LINE = /^(?:Uncaught:? )?[a-z]*(?:error|exception)\b[^\n]*/im
/** What tells of a failure on standard error, where nothing else is printed that counts. */
const FAILURE =
  /error\b|exception\b|\bE(?:CONN|TIMEDOUT|NOTFOUND|HOST|NET|AI_)|refused|timed out|not found|denied|fail|unable|unreach|can ?not|can't|could ?n[o']t/i
/** Warnings of Node.js and of mongosh about itself. */
const NOISE = /^(?:\(node:|\(Use `node|Warning:)/

/**
 * What a tool says of a failure: one line, at most 160 characters, without anything that could be an IMSI, a key or a
 * password. Undefined when it says nothing of one.
 */
export function failureIn(ran: Ran): string | undefined {
  const lines = linesOf(ran.errors)
  const line =
    ERROR_LINE.exec(ran.errors)?.[0] ??
    ERROR_LINE.exec(ran.output)?.[0] ??
    lines.findLast((one) => FAILURE.test(one)) ??
    (ran.code === 0 ? undefined : lines.at(-1))
  return line === undefined ? undefined : harmless(line, ran.conceal ?? [])
}

/** Lines of mongosh that are neither empty nor a warning about itself. */
export function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '' && !NOISE.test(line))
}

/** Hides before it cuts, so that nothing is cut down to less than what is recognised. */
function harmless(line: string, conceal: readonly string[]): string {
  let text = line
  for (const secret of conceal) if (secret !== '') text = text.replaceAll(secret, '…')
  for (const pattern of PERSONAL) text = text.replace(pattern, '…')
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, WORDS_MAX)
}

/** Addresses with what is in them, quoted texts (the last may have no end), named secrets, IMSIs, keys. */
const PERSONAL: readonly RegExp[] = [
  /\b[a-z][a-z+]*:\/\/\S+/gi,
  /"[^"]*"?|(?<!\w)'[^']*'?|`[^`']*[`']?/g,
  /(?<=\b(?:pass\w*|pwd|secret|token|ki?|opc?|imsi)\s*[:=]\s*)\S+/gi,
  /[0-9a-f]{16,}/gi,
  /[0-9]{6,}/g,
]
