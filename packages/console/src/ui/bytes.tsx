import { locale } from '../text/index.ts'

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** An amount of data as people say it: `26 MB`, thousands and not 1,024. */
export function bytesText(bytes: number): string {
  return scaled(bytes, UNITS)
}

/** In the smallest unit in which it is less than a thousand as it is rounded. */
function scaled(amount: number, [unit = '', ...larger]: readonly string[]): string {
  const maximumFractionDigits = amount >= 100 || unit === UNITS[0] ? 0 : 1
  if (larger.length > 0 && Number(amount.toFixed(maximumFractionDigits)) >= 1_000)
    return scaled(amount / 1_000, larger)
  return `${amount.toLocaleString(locale(), { maximumFractionDigits })} ${unit}`
}

/** An amount of data; all digits on hover. */
export function Bytes({ value }: { readonly value: number }) {
  return (
    <span class="number" title={`${value.toLocaleString(locale())} B`}>
      {bytesText(value)}
    </span>
  )
}

const RATES = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'] as const

/** A speed as people say it: `20 Mbit/s`. */
export function rateText(bps: number): string {
  return scaled(bps, RATES)
}
