import { t, word } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Card, EmptyState } from '../../ui/parts.tsx'
import { type BandRow, type Bar, bandRows, mhzText, type Profile, type Ranges, spanText } from './spectrum.ts'
import './radio.css'

/** The allow-list against the bands and the carriers, as a picture and as a table. */
export function SpectrumMap({
  ranges,
  profiles,
}: {
  readonly ranges: Ranges
  readonly profiles: readonly Profile[]
}) {
  const rows = bandRows(ranges, profiles)
  return (
    <Card title={t('radio.map')}>
      {rows.length === 0 ? (
        <EmptyState
          title={t('radio.map.none')}
          action={<ButtonLink href="/rules">{t('radio.map.rules')}</ButtonLink>}
        >
          {t('radio.map.none.help')}
        </EmptyState>
      ) : (
        <>
          <p class="legend fine">
            {(['allowed', 'elsewhere', 'carrier'] as const).map((kind) => (
              <span key={kind}>
                <svg class="map-key" viewBox="0 0 20 10" aria-hidden="true">
                  <rect class={kind} x="1" y="1" width="18" height="8" />
                </svg>
                {t(`radio.map.${kind}`, { country: ranges.country })}
              </span>
            ))}
          </p>
          {rows.map((row) => (
            <Band key={row.key} row={row} />
          ))}
          <details>
            <summary>{t('radio.map.table')}</summary>
            <Entries rows={rows} />
          </details>
        </>
      )}
    </Card>
  )
}

/** Widths of the picture in its own units; it is stretched to the page. */
const WIDTH = 1_000
/** From where and how high each is drawn; what counts elsewhere lies below the band. */
const PLACES = { allowed: [12, 16], elsewhere: [30, 5], carrier: [4, 24] } as const
/** Less could not be seen. */
const LEAST = 6

/** One band: what is allowed in it, and what is sent. */
export function Band({ row }: { readonly row: BandRow }) {
  const name = `${word('radio.technology', row.technology)} ${row.band}`
  return (
    <figure class="band">
      <figcaption>
        <strong>{name}</strong>{' '}
        {row.edges === undefined
          ? t('radio.map.unlisted')
          : t('radio.map.band', { span: spanText(row.edges) })}
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t('radio.map.band.label', { band: name, bars: row.bars.map(barText).join('; ') })}
      >
        <rect class={row.edges === undefined ? 'unknown' : 'whole'} x="0" y="14" width={WIDTH} height="12" />
        {row.bars.map((bar) => (
          <BarShape key={bar.key} bar={bar} row={row} />
        ))}
      </svg>
      <p class="ends fine">
        <span>{mhzText(row.low_mhz)}</span>
        <span>{mhzText(row.high_mhz)}</span>
      </p>
      <ul class="bars fine">
        {row.bars.map((bar) => (
          <li key={bar.key}>{barText(bar)}</li>
        ))}
      </ul>
    </figure>
  )
}

function BarShape({ bar, row }: { readonly bar: Bar; readonly row: BandRow }) {
  const scale = WIDTH / (row.high_mhz - row.low_mhz)
  const x = (bar.low_mhz - row.low_mhz) * scale
  const width = Math.max(LEAST, (bar.high_mhz - bar.low_mhz) * scale)
  const [y, height] = PLACES[bar.kind]
  return (
    <rect class={`${bar.kind} ${bar.isArmed ? 'armed' : ''}`} x={x} y={y} width={width} height={height} />
  )
}

function barText(bar: Bar): string {
  return t(`radio.map.${bar.kind}.bar`, { label: bar.label, span: spanText(bar) })
}

type Entry = Bar & Pick<BandRow, 'technology' | 'band'>

function Entries({ rows }: { readonly rows: readonly BandRow[] }) {
  const entries = rows.flatMap(({ technology, band, bars }) =>
    bars.map((bar) => ({ ...bar, technology, band })),
  )
  const columns: readonly Column<Entry>[] = [
    {
      text: 'radio.map.column.band',
      cell: ({ technology, band }) => `${word('radio.technology', technology)} ${band}`,
    },
    { text: 'radio.map.column.what', cell: (bar) => t(`radio.map.${bar.kind}.word`, { label: bar.label }) },
    {
      text: 'radio.map.column.low',
      isNumeric: true,
      cell: ({ low_mhz }) => mhzText(low_mhz),
      compare: (a, b) => a.low_mhz - b.low_mhz,
    },
    {
      text: 'radio.map.column.high',
      isNumeric: true,
      cell: ({ high_mhz }) => mhzText(high_mhz),
      compare: (a, b) => a.high_mhz - b.high_mhz,
    },
  ]
  return (
    <DataTable
      label={t('radio.map.table')}
      rows={entries}
      columns={columns}
      keyOf={(entry) => `${entry.technology} ${entry.band} ${entry.key}`}
    />
  )
}
