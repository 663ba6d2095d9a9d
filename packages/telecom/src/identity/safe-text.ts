import { createHash } from 'node:crypto'

/** As many digits as an IMSI has. TS 23.003 §2.2. */
const LIKE_AN_IMSI = /\d{14,}/

/** A name that somebody else chose, as it is stored: one that may hold an IMSI as its hash. */
export function storableName(name: string): string {
  if (!LIKE_AN_IMSI.test(name)) return name
  return `sha256:${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/** Runs of hex digits as long as a key, first: they can begin with digits. Runs of digits as long as an IMSI but rates. */
const PERSONAL = /[0-9a-fA-F]{32,}|\d{6,}(?!\d| [kMGT]?bit\/s)/g
const MOST_CHARACTERS = 200

/**
 * The words of an error without anything that could be an IMSI or a key. A large number is left when it is a rate
 * (`2147483647 bit/s`) or written in groups of three digits (`2 147 483 647`).
 */
export function safeText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replaceAll(PERSONAL, '…').replaceAll(/\s+/g, ' ').slice(0, MOST_CHARACTERS)
}

/** A whole number of our own as `safeText` leaves it, in groups of three digits: `2 147 483 647`. */
export function inGroups(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text that can stand in HTML, between tags and in quotes. */
export function escapedHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** A page of HTML to print. */
export interface PrintedPage {
  /** Its Content-Security-Policy: nothing is loaded and nothing runs, the one style sheet is known by its hash. */
  readonly policy: string
  /** What stands before its content. */
  head(title: string, language: string): string
  /** What stands behind it. */
  readonly foot: string
}

/** The mark of the console in black, in the margin of the first page: `packages/console/src/icon.svg`. */
const BRAND =
  '<p class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M16 4l5 12v11h-3v-4a2 2 0 0 0-4 0v4h-3V16z"/>' +
  '<path d="M24 6a9 9 0 0 1 0 10M8 6a9 9 0 0 0 0 10" fill="none" stroke="#000" stroke-width="2.8"/></svg> Steeple</p>\n'
const BRAND_STYLE =
  '.brand { position: absolute; top: 5mm; left: 15mm; font-size: 9pt } .brand svg { width: 1.5em; vertical-align: bottom }'

/** A page to print with that style sheet. */
export function printedPage(ownStyle: string): PrintedPage {
  const style = BRAND_STYLE + ownStyle
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    policy: `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    head: (title, language) => `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width">
<title>${escapedHtml(title)}</title>
<style>${style}</style>
</head>
<body>
${BRAND}`,
    foot: '</body>\n</html>\n',
  }
}
