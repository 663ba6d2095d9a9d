import {
  type AnswerOf,
  api,
  Button,
  ButtonLink,
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
import { isOfOutage, isOfSim, messageText, withoutRepeats } from './message-text.ts'

type Alert = AnswerOf<'GET', '/v1/alerts'>['alerts'][number]
/** What the overview offers to do about something. */
type Act = ComponentType<{ readonly rule: string; readonly place: string; readonly onDone: () => void }>

const TONES: Readonly<Record<string, Tone>> = { critical: 'bad', warning: 'warn' }
/** Where every rule says what there is to do about it. */
const RULES = '/alerts'
const MOST_SHOWN = 8

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
  const receivers = useQuery('/v1/alerts/receivers', {}, { on: ['alert.*', 'plugin.*', 'config.*'] })
  const firing = withoutRepeats(alerts.data?.alerts ?? []).filter(
    (alert) => alert.acked_at === null && !isOfOutage(alert) && !isKnown(alert.subject),
  )
  const subjects = JSON.stringify(firing.map(({ subject }) => subject))
  useEffect(() => onTold(JSON.parse(subjects)), [subjects])
  return (
    <>
      {firing.slice(0, MOST_SHOWN).map((alert) => (
        <AlertLine key={alert.id} alert={alert} Act={Act} onDone={alerts.reload} />
      ))}
      {receivers.data?.enabled === true && receivers.data.receivers.length === 0 ? (
        <li class="hint">
          <span class="words">{t('alerts.untold')}</span>
          <ButtonLink href="/alerts?tab=receivers">{t('alerts.untold.do')}</ButtonLink>
        </li>
      ) : null}
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
  const place = isOfSim(alert) ? `/sims/${alert.subject}` : pageThatMends(alert.rule)?.path
  return (
    <li>
      <Lamp tone={TONES[alert.severity] ?? 'none'} label={word('home.severity', alert.severity)} />
      <span class="words">
        <Said>{messageText(alert)}</Said>{' '}
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
      <ErrorNotice error={acknowledge.error} />
    </li>
  )
}
