import {
  type AnswerOf,
  Button,
  Bytes,
  bytesText,
  Card,
  type Column,
  choices,
  DataTable,
  download,
  EmptyState,
  ErrorNotice,
  Facts,
  filter,
  Loaded,
  locale,
  Notice,
  navigate,
  pageOf,
  Select,
  SubscriberName,
  setFilters,
  Time,
  t,
  useAction,
  useMemo,
  useQuery,
} from '@steeple/console/kit'
import { CountingOff } from './counting-off.tsx'
import { Counted } from './usage-chart.tsx'
import { stepsOf } from './usage-steps.ts'

const PERIODS = ['today', 'week', 'month'] as const
const SORTS = ['total', 'up', 'down'] as const
/** As many SIMs as an answer has at most; the export has all. */
const MOST = 500
const LOOK_MS = 60_000

type Usage = AnswerOf<'GET', '/v1/usage'>
type Sim = Usage['sims'][number]
type Apn = Usage['apns'][number]

/** Who uses most, and when: the period and the order are in the address. */
export function Page() {
  const period = PERIODS.find((one) => one === filter('period')) ?? 'today'
  const sort = SORTS.find((one) => one === filter('sort')) ?? 'total'
  const usage = useQuery(
    '/v1/usage',
    { query: { period, sort, limit: MOST } },
    { on: ['session.end', 'sim.label'], everyMs: LOOK_MS },
  )
  const save = useAction(() => download('/v1/usage/export', { query: { period, sort } }))
  return (
    <>
      <h1>{t('usage.title')}</h1>
      <search class="toolbar filters">
        <Select
          text="usage.span"
          value={period}
          onChange={(value) => setFilters({ period: value === 'today' ? undefined : value })}
          options={choices('usage.period', PERIODS)}
        />
        <Button onClick={() => void save.run()} isBusy={save.isBusy}>
          {t('usage.export')}
        </Button>
      </search>
      <ErrorNotice error={save.error} />
      <Loaded query={usage}>{(data) => <Report usage={data} sort={sort} />}</Loaded>
    </>
  )
}

function Report({ usage, sort }: { readonly usage: Usage; readonly sort: (typeof SORTS)[number] }) {
  const { series, from, step, sims, apns, total_bytes: total } = usage
  const length = step === 'hour' ? 'hour' : 'day'
  const steps = useMemo(() => stepsOf(series, Date.parse(from), Date.now(), length), [series, from, length])
  const columns = useMemo(() => simColumns(total), [total])
  return (
    <>
      <Totals usage={usage} />
      {total === 0 ? (
        usage.is_measured ? (
          <EmptyState title={t('usage.none')} />
        ) : null
      ) : (
        <>
          <Card title={t('usage.time')}>
            <Counted steps={steps} length={length} />
          </Card>
          <section aria-label={t('usage.sims')}>
            <h2>{t('usage.sims')}</h2>
            <DataTable
              label={t('usage.sims')}
              rows={sims}
              columns={columns}
              keyOf={({ imsi_sha256_12: hash }: Sim) => hash}
              onOpen={({ imsi_sha256_12: hash }) => navigate(pageOf(hash))}
              sorting={{ key: sort, isDown: true }}
              onSort={(by) => setFilters({ sort: by?.key })}
            />
            {usage.sims_count > sims.length ? (
              <p class="fine">{t('usage.more', { sims: usage.sims_count.toLocaleString(locale()) })}</p>
            ) : null}
          </section>
          {apns.length === 0 ? null : (
            <section aria-label={t('usage.apns')}>
              <h2>{t('usage.apns')}</h2>
              <p class="fine">{t('usage.apns.what')}</p>
              <DataTable
                label={t('usage.apns')}
                rows={apns}
                columns={[{ text: 'sessions.apn', cell: ({ apn }: Apn) => apn }, ...amounts()]}
                keyOf={({ apn }: Apn) => apn}
              />
            </section>
          )}
        </>
      )}
    </>
  )
}

function Totals({ usage }: { readonly usage: Usage }) {
  const { busiest_hour: busiest, is_measured: isMeasured } = usage
  return (
    <section class="card" aria-label={t('usage.totals')}>
      {isMeasured || usage.total_bytes > 0 ? null : <CountingOff />}
      {isMeasured || usage.total_bytes === 0 ? null : <Notice tone="warn">{t('usage.uncounted')}</Notice>}
      {usage.is_incomplete ? <Notice>{t('sessions.incomplete')}</Notice> : null}
      <Facts
        facts={[
          [t('usage.total'), <Bytes key="total" value={usage.total_bytes} />],
          [t('sessions.down'), <Bytes key="down" value={usage.down_bytes} />],
          [t('sessions.up'), <Bytes key="up" value={usage.up_bytes} />],
          [t('usage.simsCount'), usage.sims_count.toLocaleString(locale())],
          [
            t('usage.busiest'),
            busiest === null ? undefined : (
              <>
                <Time at={busiest.at} />: {bytesText(busiest.total_bytes)}
              </>
            ),
          ],
        ]}
      />
    </section>
  )
}

function simColumns(total: number): readonly Column<Sim>[] {
  return [
    {
      text: 'sessions.sim',
      cell: ({ imsi_sha256_12: hash, label }) => <SubscriberName hash={hash} label={label} />,
    },
    ...amounts<Sim>(true),
    {
      text: 'usage.share',
      isWide: true,
      cell: ({ total_bytes: bytes }) => <Share of={total} bytes={bytes} />,
    },
    {
      text: 'sims.hash',
      isWide: true,
      isTight: true,
      cell: ({ imsi_sha256_12: hash }) => <code>{hash}</code>,
    },
  ]
}

/** Most first is the only order that says something; the service gives it. */
function amounts<Row extends Apn | Sim>(isSorted = false): readonly Column<Row>[] {
  const titles = { down: t('sessions.down'), up: t('sessions.up'), total: t('usage.total') }
  return (['down', 'up', 'total'] as const).map((key) => ({
    key,
    title: titles[key],
    isNumeric: true,
    cell: (row) => <Bytes value={row[`${key}_bytes`]} />,
    ...(isSorted ? { compare: (a, b) => a[`${key}_bytes`] - b[`${key}_bytes`] } : {}),
  }))
}

function Share({ of, bytes }: { readonly of: number; readonly bytes: number }) {
  const text = (bytes / of).toLocaleString(locale(), { style: 'percent' })
  return (
    <span class="share">
      <meter aria-label={t('usage.share')} min={0} max={of} value={bytes} /> {text}
    </span>
  )
}
