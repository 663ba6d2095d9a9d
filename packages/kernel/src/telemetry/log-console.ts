/** Colours of a terminal by level (SGR codes). */
const COLOURS: Readonly<Record<string, string>> = { debug: '90', info: '32', warn: '33', error: '31' }
const GREY = '90'

/** How a line is written for a person. */
export interface ConsoleStyle {
  /** Colours, for a terminal. */
  readonly hasColours: boolean
}

/**
 * One JSON log line as a line for a terminal: `12:00:01.234 INFO  message  key=value …`; an error's stack follows
 * indented. A line that is no JSON object stays as it is.
 */
export function consoleLine(json: string, style: ConsoleStyle): string {
  const line = parseLine(json)
  if (line === undefined) return json
  const { time, level, msg, err, ...facts } = line
  const paint = (code: string, text: string): string =>
    style.hasColours && text !== '' ? `\u001B[${code}m${text}\u001B[0m` : text
  const word = String(level ?? 'info')
  const parts = [
    paint(
      GREY,
      String(time ?? '')
        .replace(/^.*T/, '')
        .replace(/Z$/, ''),
    ),
    paint(COLOURS[word] ?? GREY, word.toUpperCase().padEnd(5)),
    printable(String(msg ?? '')),
    paint(
      GREY,
      Object.entries(facts)
        .map(([name, value]) => `${name}=${shown(value)}`)
        .join(' '),
    ),
  ]
  return `${parts.filter((part) => part !== '').join(' ')}${errorText(err)}\n`
}

function parseLine(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** Control characters could drive the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '?')
}

function shown(value: unknown): string {
  const text = typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : (JSON.stringify(value) ?? '')
  return printable(text)
}

function errorText(err: unknown): string {
  if (typeof err !== 'object' || err === null) return ''
  const { message, stack, cause } = err as { message?: unknown; stack?: unknown; cause?: unknown } // any may be absent
  const own = `\n${printable(String(stack ?? message ?? '')).replaceAll(/^/gm, '    ')}`
  return cause === undefined ? own : `${own}\n    caused by:${errorText(cause)}`
}
