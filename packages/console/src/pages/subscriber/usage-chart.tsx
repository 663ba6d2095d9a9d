import { useMemo, useState } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { locale, t } from '../../text/index.ts'
import { bytesText } from '../../ui/bytes.tsx'
import { Select } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import type { Usage } from './quota.tsx'

type Point = NonNullable<Usage['series']>[number]

const HOUR_MS = 3_600_000
const SPANS = {
  day: { ms: 24 * HOUR_MS, step: 'hour' },
  week: { ms: 7 * 24 * HOUR_MS, step: 'hour' },
  month: { ms: 30 * 24 * HOUR_MS, step: 'day' },
} as const
const LOOK_MS = 60_000
/** Of the picture, in its own units. */
const [WIDTH, HEIGHT] = [600, 120]

/** What a SIM has used over time: bars, and the figures as a table. */
export function UsageChart({ hash }: { readonly hash: string }) {
  const [span, setSpan] = useState<keyof typeof SPANS>('month')
  const { ms, step } = SPANS[span]
  // The beginning stands still, so that reading anew is the same question.
  const from = useMemo(() => new Date(Date.now() - ms).toISOString(), [ms])
  const usage = useQuery(
    '/v1/sims/{imsi}/usage',
    { path: { imsi: hash }, query: { from, step } },
    { on: ['quota.*', 'session.end'], everyMs: LOOK_MS },
  )
  const series = usage.data?.series ?? []
  return (
    <section class="card" aria-label={t('usage.title')}>
      <h2>{t('usage.title')}</h2>
      <Select
        label={t('usage.span')}
        value={span}
        onChange={(value) => setSpan(value === 'day' || value === 'week' ? value : 'month')}
        options={Object.keys(SPANS).map((value) => ({
          value,
          label: t(`usage.span.${value as keyof typeof SPANS}`),
        }))}
      />
      {usage.error === undefined ? null : <ErrorNotice error={usage.error} onRetry={usage.reload} />}
      {usage.data === undefined ? null : (
        <Bars series={series} from={Date.parse(from)} lengthMs={ms} isHourly={step === 'hour'} />
      )}
    </section>
  )
}

function Bars({
  series,
  from,
  lengthMs,
  isHourly,
}: {
  readonly series: readonly Point[]
  readonly from: number
  readonly lengthMs: number
  readonly isHourly: boolean
}) {
  const highest = Math.max(0, ...series.map(totalOf))
  if (highest === 0) return <p class="fine">{t('usage.none')}</p>
  const sum = series.reduce((all, point) => all + totalOf(point), 0)
  // Steps in which nothing was counted are not there: a bar stands where its time is. The first and the last step may be cut.
  const stepMs = isHourly ? HOUR_MS : 24 * HOUR_MS
  const perMs = WIDTH / (lengthMs + stepMs)
  const width = stepMs * perMs
  const heightOf = (bytes: number): number => (bytes / highest) * HEIGHT
  return (
    <>
      <figure class="chart">
        <span class="fine">{bytesText(highest)}</span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={t('usage.sum', { sum: bytesText(sum), highest: bytesText(highest) })}
        >
          {series.map((point) => {
            const [down, up] = [heightOf(point.down_bytes), heightOf(point.up_bytes)]
            const bar = {
              x: Math.max(0, (Date.parse(point.at) + stepMs - from) * perMs - width) + width * 0.1,
              width: width * 0.8,
            }
            return (
              <g key={point.at}>
                <title>{`${momentText(point.at, isHourly)}: ${bytesText(totalOf(point))}`}</title>
                <rect class="down" {...bar} y={HEIGHT - down} height={down} />
                <rect class="up" {...bar} y={HEIGHT - down - up} height={up} />
              </g>
            )
          })}
        </svg>
        <figcaption class="fine">
          <span>{momentText(new Date(from).toISOString(), isHourly)}</span>
          <span>
            <i class="key down" /> {t('sessions.down')} <i class="key up" /> {t('sessions.up')}
          </span>
          <span>{momentText(new Date(from + lengthMs).toISOString(), isHourly)}</span>
        </figcaption>
      </figure>
      <details>
        <summary>{t('usage.table')}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('usage.when')}</th>
              <th scope="col" class="number">
                {t('sessions.down')}
              </th>
              <th scope="col" class="number">
                {t('sessions.up')}
              </th>
            </tr>
          </thead>
          <tbody>
            {series
              .filter((point) => totalOf(point) > 0)
              .map((point) => (
                <tr key={point.at}>
                  <td>{momentText(point.at, isHourly)}</td>
                  <td class="number">{bytesText(point.down_bytes)}</td>
                  <td class="number">{bytesText(point.up_bytes)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </>
  )
}

function totalOf({ up_bytes: up, down_bytes: down }: Point): number {
  return up + down
}

function momentText(at: string, isHourly: boolean): string {
  return new Date(at).toLocaleString(locale(), {
    day: 'numeric',
    month: 'short',
    ...(isHourly ? { hour: '2-digit' as const } : {}),
  })
}
