import {
  addStyle,
  bytesText,
  Card,
  EmptyState,
  ErrorNotice,
  locale,
  Select,
  type Sim,
  t,
  useEffect,
  useMemo,
  useQuery,
  useState,
} from '@steeple/console/kit'
import css from './usage.css'
import type { UsageBars } from './usage-bars.tsx'
import { beginning, type Step, type StepLength, stepsOf } from './usage-steps.ts'

addStyle(css)

const SPANS = {
  day: { count: 24, length: 'hour' },
  week: { count: 7 * 24, length: 'hour' },
  month: { count: 30, length: 'day' },
} as const
const LOOK_MS = 60_000

/** What a SIM has used over time: bars, and the figures as a table. */
export function Panel({ sim: { imsi_sha256_12: hash } }: { readonly sim: Sim }) {
  const [span, setSpan] = useState<keyof typeof SPANS>('month')
  const { count, length } = SPANS[span]
  // The beginning stands still, so that reading anew is the same question.
  const fromMs = useMemo(() => beginning(Date.now(), length, count), [length, count])
  // By the hour for days too: a day is the reader's, and the service knows no zone of theirs.
  const query = { from: new Date(fromMs).toISOString(), step: 'hour' } as const
  const usage = useQuery(
    '/v1/sims/{imsi}/usage',
    { path: { imsi: hash }, query },
    { on: ['quota.*', 'session.end'], everyMs: LOOK_MS },
  )
  const series = usage.data?.series
  const steps = useMemo(() => stepsOf(series ?? [], fromMs, Date.now(), length), [series, fromMs, length])
  return (
    <Card title={t('usage.title')}>
      <Select
        text="usage.span"
        value={span}
        onChange={(value) => setSpan(value === 'day' || value === 'week' ? value : 'month')}
        options={Object.keys(SPANS).map((value) => ({
          value,
          label: t(`usage.span.${value as keyof typeof SPANS}`),
        }))}
      />
      <ErrorNotice error={usage.error} onRetry={usage.reload} />
      {series === undefined ? null : <Counted steps={steps} length={length} />}
    </Card>
  )
}

/** The picture, what is in it in words, and its figures. */
export function Counted({ steps, length }: { readonly steps: readonly Step[]; readonly length: StepLength }) {
  const bars = useBars(steps)
  const when = useMemo(() => momentText(length), [length])
  const highest = Math.max(0, ...steps.map(totalOf))
  if (highest === 0) return <EmptyState title={t('usage.none')} />
  const sum = bytesText(steps.reduce((all, step) => all + totalOf(step), 0))
  const label = t('usage.sum', { sum, highest: bytesText(highest) })
  return (
    <>
      {bars === 'failed' ? <p>{label}</p> : null}
      {bars === undefined ? <div class="plot" /> : null}
      {typeof bars === 'object' ? <bars.Bars {...{ steps, length, label, when }} /> : null}
      <details>
        <summary>{t('usage.table')}</summary>
        <Figures steps={steps} when={when} />
      </details>
    </>
  )
}

/** The bars, whose library is loaded when there is something to draw, and tried again with each reading while it could not be. */
function useBars(steps: readonly Step[]): { readonly Bars: typeof UsageBars } | 'failed' | undefined {
  const [bars, setBars] = useState<ReturnType<typeof useBars>>(undefined)
  useEffect(() => {
    if (typeof bars === 'object') return undefined
    let isOver = false
    import('./usage-bars.tsx').then(
      ({ UsageBars: Bars }) => isOver || setBars({ Bars }),
      () => isOver || setBars('failed'),
    )
    return () => {
      isOver = true
    }
  }, [steps])
  return bars
}

function Figures({
  steps,
  when,
}: {
  readonly steps: readonly Step[]
  readonly when: (atMs: number) => string
}) {
  return (
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
        {steps
          .filter((step) => totalOf(step) > 0)
          .map(({ atMs, downBytes, upBytes }) => (
            <tr key={atMs}>
              <td>{when(atMs)}</td>
              <td class="number">{bytesText(downBytes)}</td>
              <td class="number">{bytesText(upBytes)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  )
}

function totalOf({ upBytes, downBytes }: Step): number {
  return upBytes + downBytes
}

/** When a step of that length was: the day, and the hour with its minutes, of the reader's zone. */
function momentText(length: StepLength): (atMs: number) => string {
  const day = { day: 'numeric', month: 'short' } as const
  const hour = length === 'hour' ? ({ hour: '2-digit', minute: '2-digit' } as const) : {}
  const format = new Intl.DateTimeFormat(locale(), { ...day, ...hour })
  return (atMs) => format.format(atMs)
}
