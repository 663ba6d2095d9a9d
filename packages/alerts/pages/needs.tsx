import {
  type AnswerOf,
  api,
  Button,
  type ComponentType,
  ErrorNotice,
  Lamp,
  may,
  pageThatMends,
  Said,
  Time,
  type Tone,
  t,
  useAction,
  useEffect,
  useQuery,
  word,
} from '@steeple/console/kit'

type Alert = AnswerOf<'GET', '/v1/alerts'>['alerts'][number]
/** What the overview offers to do about something. */
type Act = ComponentType<{ readonly rule: string; readonly place: string; readonly onDone: () => void }>

const TONES: Readonly<Record<string, Tone>> = { critical: 'bad', warning: 'warn' }
/** Where every rule says what there is to do about it. */
const RULES = '/alerts'
const MOST_SHOWN = 8
/** What these rules tell of is an outage as long as it lasts. Such an alert goes on for a minute more. */
const OF_OUTAGES: ReadonlySet<string> = new Set([
  ...[
    'component_down',
    'disk_low',
    'disk_almost_full',
    'no_registration',
    'nobody_attached',
    'backup_overdue',
  ],
])

function isOfOutage(rule: string, subject: string): boolean {
  return OF_OUTAGES.has(rule) || (rule === 'clock_skew' && subject === 'clock')
}

/** The alerts that are open and say more than the outages above them; says whom they are about. */
export function Panel({
  Act,
  isKnown,
  onTold,
}: {
  readonly Act: Act
  /** Whether an outage says it already. */
  readonly isKnown: (subject: string) => boolean
  readonly onTold: (subjects: readonly string[]) => void
}) {
  const alerts = useQuery('/v1/alerts', { query: { state: 'firing', limit: 50 } }, { on: ['alert.*'] })
  const firing =
    alerts.data?.alerts.filter(
      ({ acked_at, rule, subject }) => acked_at === null && !isOfOutage(rule, subject) && !isKnown(subject),
    ) ?? []
  const subjects = JSON.stringify(firing.map(({ subject }) => subject))
  useEffect(() => onTold(JSON.parse(subjects)), [subjects])
  return (
    <>
      {firing.slice(0, MOST_SHOWN).map((alert) => (
        <AlertLine key={alert.id} alert={alert} Act={Act} onDone={alerts.reload} />
      ))}
    </>
  )
}

function AlertLine({
  alert,
  Act,
  onDone,
}: {
  readonly alert: Alert
  readonly Act: Act
  readonly onDone: () => void
}) {
  const acknowledge = useAction(() => api.post('/v1/alerts/{id}/ack', { path: { id: alert.id }, body: {} }))
  const place = alert.rule.startsWith('sim_quota')
    ? `/sims/${alert.subject}`
    : pageThatMends(alert.rule)?.path
  return (
    <li>
      <Lamp tone={TONES[alert.severity] ?? 'none'} label={word('home.severity', alert.severity)} />
      <span class="words">
        <Said>{alert.message}</Said>{' '}
        <span class="fine">
          <Time at={alert.started_at} relative />
        </span>
      </span>
      <Act rule={alert.rule} place={place ?? RULES} onDone={onDone} />
      {may('operator') ? (
        <Button isBusy={acknowledge.isBusy} onClick={() => void acknowledge.run().then(onDone)}>
          {t('home.acknowledge')}
        </Button>
      ) : null}
      {acknowledge.error === undefined ? null : <ErrorNotice error={acknowledge.error} />}
    </li>
  )
}
