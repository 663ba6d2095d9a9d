const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** A number of octets as people read it: `1.5 GB` (units of 1000); `-` for what is none. */
export function octets(value: unknown): string {
  if (typeof value !== 'number' || !Number.isFinite(value)) return '-'
  let amount = Math.abs(value)
  let unit = 0
  // What would be written as 1000.0 is 1.0 of the next unit.
  while (amount >= 999.95 && unit < UNITS.length - 1) {
    amount /= 1_000
    unit += 1
  }
  return `${value < 0 ? '-' : ''}${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit]}`
}
