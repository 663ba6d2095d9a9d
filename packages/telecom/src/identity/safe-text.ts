import { createHash } from 'node:crypto'

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

/** A page to print with that style sheet. */
export function printedPage(style: string): PrintedPage {
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
`,
    foot: '</body>\n</html>\n',
  }
}
