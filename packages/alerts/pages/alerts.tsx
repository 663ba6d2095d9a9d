import {
  type AnswerOf,
  api,
  Button,
  type Column,
  type ComponentChildren,
  choices,
  componentText,
  DataTable,
  EmptyState,
  ErrorNotice,
  Facts,
  Field,
  FormDialog,
  filter,
  type Incident,
  IncidentList,
  type ItemOf,
  incidentName,
  isAbout,
  Lamp,
  Lasted,
  Loaded,
  may,
  Notice,
  named,
  PagedTable,
  Said,
  Select,
  SetButton,
  setFilters,
  Tabs,
  Time,
  type Tone,
  t,
  toast,
  useAction,
  useBoard,
  usePages,
  useQuery,
  useState,
  wellText,
  word,
} from '@steeple/console/kit'
import { isOfOutage, messageText, withoutRepeats } from './message-text.ts'
import { ReceiverList } from './receivers.tsx'

const HOUR_MS = 3_600_000
const LENGTHS = { hour: HOUR_MS, shift: 8 * HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS } as const
const CHOICES = ['hour', 'shift', 'day', 'week', 'until'] as const

/** Asks until when receivers are to be told nothing of an alert's rule and subject. */
function SilenceDialog({
  alert,
  onClose,
  onChanged,
}: {
  readonly alert: Alert
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const [choice, setChoice] = useState<string>('hour')
  const [until, setUntil] = useState('')
  const silence = (end: string | null) =>
    api.post('/v1/alerts/{id}/silence', { path: { id: alert.id }, body: { until: end } })
  return (
    <FormDialog
      text="alerts.silence"
      values={{ rule: ruleText(alert.rule), subject: subjectText(alert) }}
      isDisabled={choice === 'until' && until === ''}
      act={() => silence(endOf(choice, until))}
      onDone={() => {
        toast({ text: t('alerts.silenced'), undo: () => void silence(null).then(onChanged) })
        onChanged()
        onClose()
      }}
      onClose={onClose}
    >
      <Select
        text="alerts.silence.for"
        value={choice}
        onChange={setChoice}
        options={choices('alerts.silence', CHOICES)}
      />
      {choice === 'until' ? (
        <Field
          text="alerts.silence.until"
          type="datetime-local"
          value={until}
          onInput={setUntil}
          isRequired
        />
      ) : null}
    </FormDialog>
  )
}

function endOf(choice: string, until: string): string {
  const lengthMs = (LENGTHS as Readonly<Record<string, number>>)[choice]
  return (lengthMs === undefined ? new Date(until) : new Date(Date.now() + lengthMs)).toISOString()
}

/** An alert that is not over, with what can be done about it. */
function OpenAlert({ alert, onChanged }: { readonly alert: Alert; readonly onChanged: () => void }) {
  const [isSilencing, setSilencing] = useState(false)
  const path = { id: alert.id }
  const ack = useAction(() => api.post('/v1/alerts/{id}/ack', { path, body: {} }), {
    done: t('alerts.acked'),
    onDone: onChanged,
  })
  const end = useAction(() => api.post('/v1/alerts/{id}/silence', { path, body: { until: null } }))
  const remedy = remedyOf(alert.rule)
  const error = ack.error ?? end.error
  const isSilent = alert.silenced_until !== null && Date.parse(alert.silenced_until) > Date.now()
  return (
    <article class="card" aria-label={`${ruleText(alert.rule)} ${subjectText(alert)}`}>
      <h2>
        <Lamp
          tone={toneOf(alert.severity)}
          label={named(word('alerts.severity', alert.severity), ruleText(alert.rule))}
        />
      </h2>
      <p>
        <Said>{messageText(alert)}</Said>
      </p>
      {remedy === undefined ? null : <p>{remedy}</p>}
      <Facts facts={factsOf(alert, isSilent)} />
      <ErrorNotice error={error} />
      {may('operator') ? (
        <div class="actions">
          {isSilent ? (
            <Button isBusy={end.isBusy} onClick={() => void end.run().then(onChanged)}>
              {t('alerts.silence.end')}
            </Button>
          ) : (
            <Button onClick={() => setSilencing(true)}>{t('alerts.silence')}</Button>
          )}
          {alert.state === 'firing' && alert.acked_at === null ? (
            <Button icon="check" kind="primary" isBusy={ack.isBusy} onClick={() => void ack.run()}>
              {t('alerts.ack')}
            </Button>
          ) : null}
        </div>
      ) : null}
      {isSilencing ? (
        <SilenceDialog alert={alert} onClose={() => setSilencing(false)} onChanged={onChanged} />
      ) : null}
    </article>
  )
}

function factsOf(alert: Alert, isSilent: boolean) {
  return [
    [t('alerts.subject'), subjectText(alert)],
    [
      t('alerts.state'),
      alert.state === 'firing' && !alert.told ? t('alerts.state.untold') : word('alerts.state', alert.state),
    ],
    [t('alerts.since'), <Time key="since" at={alert.started_at} relative />],
    [
      t('alerts.value'),
      alert.value === null || alert.threshold === null
        ? undefined
        : t('alerts.value.of', { value: alert.value, threshold: alert.threshold }),
    ],
    [
      t('alerts.ackedBy'),
      alert.acked_at === null ? undefined : (
        <>
          {nameIn(alert.acked_by ?? '')} · <Time at={alert.acked_at} relative />
        </>
      ),
    ],
    [
      t('alerts.silencedUntil'),
      isSilent && alert.silenced_until !== null ? <Time at={alert.silenced_until} /> : undefined,
    ],
  ] as const
}

/** The name in `<id>/<name>`, as a token is called. */
function nameIn(by: string): string {
  return by.replace(/^[\da-f-]{36}\//, '')
}

const SEVERITIES = ['critical', 'warning', 'info'] as const

type Outage = AnswerOf<'GET', '/v1/incidents'>['incidents'][number]

/** Outages that are over: one row each, from begin to end, with what it meant. */
function PastOutages({ severity }: { readonly severity: string | undefined }) {
  const outages = useQuery('/v1/incidents', {}, { on: ['incident.*'], everyMs: 30_000 })
  return (
    <Loaded query={outages}>
      {({ incidents }) => (
        <DataTable
          label={t('alerts.outages')}
          rows={incidents.filter(
            (one) => one.until !== null && (severity === undefined || one.severity === severity),
          )}
          columns={outageColumns()}
          keyOf={({ id, since }) => `${id} ${since}`}
          empty={<EmptyState title={t('alerts.outages.none')} />}
        />
      )}
    </Loaded>
  )
}

function outageColumns(): readonly Column<Outage>[] {
  return [
    {
      text: 'alerts.what',
      cell: (outage) => <Lamp tone={toneOf(outage.severity)} label={incidentName(outage)} />,
    },
    { text: 'alerts.since', of: 'since', as: 'moment' },
    { text: 'alerts.over', cell: ({ until }) => (until === null ? '' : <Time at={until} />), isWide: true },
    { text: 'alerts.lasted', cell: ({ since, until }) => <Lasted from={since} to={until} /> },
    {
      text: 'alerts.meant',
      cell: ({ kind, phones_off }) =>
        phones_off === null ? word('incident.impact', kind) : t('home.over.phones', { count: phones_off }),
    },
  ]
}

/** Outages and alerts that are over, newest first. What an outage says is no alert beside it. */
function PastAlerts() {
  const wanted = filter('severity')
  const severity = SEVERITIES.find((one) => one === wanted)
  const alerts = usePages('/v1/alerts', { state: 'resolved', severity }, ['alert.*'])
  const others = { ...alerts, data: alerts.data?.filter((alert) => !isOfOutage(alert)) }
  return (
    <>
      <div class="toolbar">
        <Select
          text="alerts.severity"
          value={severity ?? ''}
          onChange={(value) => setFilters({ severity: value })}
          options={choices('alerts.severity', SEVERITIES, t('alerts.severity.all'))}
        />
      </div>
      <h2>{t('alerts.outages')}</h2>
      <PastOutages severity={severity} />
      <h2>{t('alerts.past.others')}</h2>
      <PagedTable
        query={others}
        label={t('alerts.past')}
        columns={columns()}
        keyOf={({ id }) => id}
        empty={<EmptyState title={t('alerts.past.none')}>{t('alerts.past.none.help')}</EmptyState>}
      />
    </>
  )
}

function columns(): readonly Column<Alert>[] {
  return [
    {
      text: 'alerts.severity',
      cell: ({ severity }) => <Lamp tone={toneOf(severity)} label={word('alerts.severity', severity)} />,
    },
    { text: 'alerts.what', cell: ({ rule }) => ruleText(rule) },
    { text: 'alerts.subject', cell: subjectText },
    { text: 'alerts.since', of: 'started_at', as: 'moment' },
    {
      text: 'alerts.over',
      cell: (alert) => (alert.resolved_at === null ? '' : <Time at={alert.resolved_at} />),
      isWide: true,
    },
    { text: 'alerts.ackedBy', cell: (alert) => alert.acked_by ?? '', isWide: true },
  ]
}

/** Alerts: what is wrong now, what was, and who is told. */
export function Page() {
  const receivers = useQuery('/v1/alerts/receivers', {}, { on: ['alert.*', 'plugin.*'], everyMs: 15_000 })
  return (
    <>
      <h1>{t('alerts.title')}</h1>
      {receivers.data?.enabled === false ? (
        <Notice tone="warn">
          <p>{t('alerts.off')}</p>
          <div>
            <SetButton settings={{ 'alerts.enabled': true }}>{t('alerts.on')}</SetButton>
          </div>
          <p>
            <a href="/docs/how-to/alerts.html">{t('alerts.docs')}</a>
          </p>
        </Notice>
      ) : null}
      <Tabs
        label={t('alerts.title')}
        chosen={filter('tab')}
        onChoose={(tab) => setFilters({ tab })}
        tabs={[
          { key: 'open', title: t('alerts.open'), content: () => <OpenAlerts /> },
          { key: 'past', title: t('alerts.past'), content: () => <PastAlerts /> },
          {
            key: 'receivers',
            title: t('alerts.receivers'),
            content: () => <ReceiverList query={receivers} />,
          },
        ]}
      />
    </>
  )
}

function OpenAlerts() {
  const query = { state: 'open', limit: 500 } as const
  const alerts = useQuery('/v1/alerts', { query }, { on: ['alert.*'], everyMs: 30_000 })
  const board = useBoard()
  const shown = (open: readonly Alert[]) =>
    withoutRepeats(open).map((alert) => <OpenAlert key={alert.id} alert={alert} onChanged={alerts.reload} />)
  return (
    <Loaded query={alerts}>
      {({ alerts: open }) => {
        const isOf = (incident: Incident) => (alert: Alert) => isAbout(incident, alert.subject)
        // What an outage has ended with is over, here as on the overview.
        const isOver = (alert: Alert) => board.at !== undefined && isOfOutage(alert)
        const others = open.filter(
          (alert) => !isOver(alert) && !board.incidents.some((incident) => isOf(incident)(alert)),
        )
        return (
          <>
            <IncidentList
              board={board}
              under={(incident) => <Notified>{shown(open.filter(isOf(incident)))}</Notified>}
            />
            {others.length + board.incidents.length > 0 || board.at === undefined ? (
              shown(others)
            ) : (
              <EmptyState title={wellText(board)}>{t('alerts.none.help')}</EmptyState>
            )}
          </>
        )
      }}
    </Loaded>
  )
}

/** The alerts of an outage: who was notified, and what can be done about that. */
function Notified({ children }: { readonly children: readonly ComponentChildren[] }) {
  if (children.length === 0) return null
  return (
    <details>
      <summary>{t('alerts.ofIncident', { count: children.length })}</summary>
      {children}
    </details>
  )
}

/** An alert as the API lists it. */
type Alert = ItemOf<'/v1/alerts'>

function toneOf(severity: string): Tone {
  if (severity === 'critical') return 'bad'
  return severity === 'warning' ? 'warn' : 'none'
}

/** What a rule says in words; one that somebody has made is called by its name. */
function ruleText(rule: string): string {
  return word('alerts.rule', rule)
}

/** What to do about it, of the built-in rules. */
function remedyOf(rule: string): string | undefined {
  const text = word('alerts.do', rule)
  return text === rule ? undefined : text
}

/** What it is about; none where it is about the box as a whole. */
function subjectText({ subject, label }: Alert): string {
  if (label !== null) return label
  return subject === '*' ? t('alerts.allOthers') : componentText(subject)
}
