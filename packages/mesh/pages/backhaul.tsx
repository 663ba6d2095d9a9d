import {
  type AnswerOf,
  Bytes,
  Card,
  type Column,
  DataTable,
  Loaded,
  locale,
  Notice,
  Progress,
  t,
  useQuery,
} from '@steeple/console/kit'

type Backhaul = AnswerOf<'GET', '/v1/mesh/backhaul'>
type Month = Backhaul['months'][number]

/** As often as the box counts. */
const LOOK_MS = 60_000
const MONTHS = 24

/** What the way out of this box has carried, month by month, beside what it may carry. */
export function BackhaulByMonth() {
  const backhaul = useQuery('/v1/mesh/backhaul', { query: { months: MONTHS } }, { everyMs: LOOK_MS })
  return (
    <Card title={t('mesh.backhaul')}>
      <p>{t('mesh.backhaul.what')}</p>
      <Loaded query={backhaul}>{(known) => <Months backhaul={known} />}</Loaded>
    </Card>
  )
}

function Months({ backhaul: { interfaces, cap_bytes: cap, months } }: { readonly backhaul: Backhaul }) {
  return (
    <>
      <p class="fine">
        {interfaces.length === 0 ? (
          t('mesh.backhaul.noWay')
        ) : (
          <>
            {t('mesh.backhaul.over')} <code>{interfaces.join(', ')}</code>
          </>
        )}
      </p>
      {months[0] === undefined || cap === null ? null : <BackhaulOfCap month={months[0]} cap={cap} />}
      <DataTable
        label={t('mesh.backhaul')}
        rows={months}
        columns={columns()}
        keyOf={({ month }) => month}
        empty={<p>{t('mesh.backhaul.none')}</p>}
      />
    </>
  )
}

/** How much of what it may carry is used up. */
function BackhaulOfCap({ month, cap }: { readonly month: Month; readonly cap: number }) {
  const isOver = month.total_bytes >= cap
  return (
    <>
      <p>
        {t('mesh.backhaul.of', { month: monthText(month.month) })} <Bytes value={month.total_bytes} /> /{' '}
        <Bytes value={cap} />
      </p>
      <Progress label={t('mesh.backhaul.used')} value={Math.min(month.total_bytes, cap)} max={cap} />
      {isOver ? <Notice tone="warn">{t('mesh.backhaul.over.cap')}</Notice> : null}
    </>
  )
}

function columns(): readonly Column<Month>[] {
  return [
    { text: 'mesh.backhaul.month', cell: ({ month }) => monthText(month) },
    { text: 'mesh.backhaul.received', of: 'received_bytes', as: 'bytes' },
    { text: 'mesh.backhaul.sent', of: 'sent_bytes', as: 'bytes' },
    { text: 'mesh.backhaul.all', of: 'total_bytes', as: 'bytes' },
    { text: 'mesh.backhaul.since', isWide: true, of: 'from', as: 'day' },
  ]
}

/** `2026-11` as people say it. The middle of a month is in it everywhere. */
function monthText(month: string): string {
  const middle = new Date(`${month}-15T12:00:00Z`)
  return middle.toLocaleDateString(locale(), { month: 'long', year: 'numeric' })
}
