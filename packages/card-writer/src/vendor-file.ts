/** An ADM key as people have it. */
export const ADM: RegExp = /^([0-9]{4,8}|[0-9a-fA-F]{16})$/

/** Whether two ICCIDs are of one card: vendors write them with and without the check digit. */
export function isSameCard(one: string, other: string): boolean {
  return (
    one === other ||
    (Math.abs(one.length - other.length) === 1 && (one.startsWith(other) || other.startsWith(one)))
  )
}

/**
 * The ADM key of a card in its vendor's file: comma, semicolon or tab between the cells, columns ICCID and ADM1 in any case and order.
 * Undefined when it is not in it.
 */
export function admIn(csv: string, iccid: string): string | undefined {
  const rows = csv
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => line.split(/[,;\t]/).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1')))
  const [head = [], ...cards] = rows
  const columnOf = (name: string): number => head.findIndex((cell) => cell.toUpperCase() === name)
  const [number, adm] = [columnOf('ICCID'), columnOf('ADM1')]
  const row = cards.find(
    (cells) => /^[0-9]{18,20}$/.test(cells[number] ?? '') && isSameCard(cells[number] ?? '', iccid),
  )
  const found = row?.[adm] ?? ''
  return ADM.test(found) ? found : undefined
}
