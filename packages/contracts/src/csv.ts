/** What a spreadsheet takes for a formula begins so; and what is neutralised, so that each apostrophe in front is ours. */
const NEUTRALISED = /^[=+\-@\t\r\n'＝＋－＠]/
const QUOTED = /[",\r\n]/
/** No text has a NUL, and strict readers refuse a file with one. */
const NUL = /\0/g

/** One line of RFC 4180 with its CRLF. Cells are quoted where they have to be, and never a formula. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  let line = ''
  for (let i = 0; i < cells.length; i++) {
    if (i > 0) line += ','
    const cell = cells[i]
    if (cell === null || cell === undefined || cell === '') continue
    line += typeof cell === 'number' && cell >= 0 ? cell : cellText(String(cell))
  }
  return `${line}\r\n`
}

function cellText(text: string): string {
  // Half of a surrogate pair is no character, and UTF-8 has no octets for it.
  const plain = (text.includes('\0') ? text.replace(NUL, '\uFFFD') : text).toWellFormed()
  const safe = NEUTRALISED.test(plain) ? `'${plain}` : plain
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
