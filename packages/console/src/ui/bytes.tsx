import { locale } from '../text/index.ts'

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** An amount of data as people say it: `26 MB`, thousands and not 1,024. */
export function bytesText(bytes: number): string {
  const place = bytes < 1_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1_000 ** place
  const maximumFractionDigits = place === 0 || value >= 100 ? 0 : 1
  return `${value.toLocaleString(locale(), { maximumFractionDigits })} ${UNITS[place]}`
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
  const place = bps < 1_000 ? 0 : Math.min(RATES.length - 1, Math.floor(Math.log10(bps) / 3))
  return `${(bps / 1_000 ** place).toLocaleString(locale(), { maximumFractionDigits: 1 })} ${RATES[place]}`
}
