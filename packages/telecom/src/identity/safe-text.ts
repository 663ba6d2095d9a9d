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
