/** One line of a chart: what it is of, how much, and what stands behind it. */
export interface ChartLine {
  readonly title: string
  readonly amount: number
  readonly note: string
}

/** Eighths of a cell, from none to seven. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const FULL = '█'
const GAP = '  '
/** A bar that is shorter says nothing. */
const SHORTEST = 8
/** A bar that is longer says no more. */
const LONGEST = 60

/** Lines with a bar each, the longest for the largest amount, at most `width` wide; no trailing blanks. */
export function chart(lines: readonly ChartLine[], width: number): string {
  const titleWidth = Math.max(0, ...lines.map(({ title }) => title.length))
  const noteWidth = Math.max(0, ...lines.map(({ note }) => note.length))
  const room = width - titleWidth - noteWidth - 2 * GAP.length
  const barWidth = Math.min(Math.max(room, SHORTEST), LONGEST)
  const most = Math.max(0, ...lines.map(({ amount }) => amount))
  return lines
    .map(({ title, amount, note }) => {
      const bar = most > 0 ? barOf((amount / most) * barWidth) : ''
      return `${[title.padEnd(titleWidth), bar.padEnd(barWidth), note].join(GAP).trimEnd()}\n`
    })
    .join('')
}

/** Anything above nothing is seen. */
function barOf(cells: number): string {
  const eighths = cells > 0 ? Math.max(Math.round(cells * 8), 1) : 0
  return FULL.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '')
}
