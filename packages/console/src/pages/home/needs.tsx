import type { AnswerOf } from '@steeple/client'
import { api } from '../../api/client.ts'
import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { type Query, useAction, useQuery } from '../../api/use-query.ts'
import { isKeptOff } from '../../app/kept-off.ts'
import { ifPage } from '../../app/pages-here.ts'
import { tx } from '../../app/transmitter.tsx'
import { t, word } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Lamp, type Tone } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'

type Alert = AnswerOf<'GET', '/v1/alerts'>['alerts'][number]
type Component = AnswerOf<'GET', '/v1/health'>['components'][number]

const TONES: Readonly<Record<string, Tone>> = {
  critical: 'bad',
  down: 'bad',
  warning: 'warn',
  degraded: 'warn',
}
/** The page on which something about a kind of component, or a rule, is looked at and mended. */
const PLACES: Readonly<Record<string, string>> = {
  ran: '/radio',
  core: '/core',
  hss: '/core',
  peer: '/mesh',
  collector: '/sessions',
  tx_auto_disarmed: '/radio',
  hss_push_failing: '/sims',
  session_surge: '/sessions',
  heartbeat_stale: '/mesh',
}
/** The same of the parts of a plugin that are of no kind of their own. */
const PLACES_OF_PLUGINS: Readonly<Record<string, string>> = {
  ...{ policy: '/radio', sims: '/sims', sessions: '/sessions', mesh: '/mesh' },
  ...{ 'core-config': '/core', 'esim-smdp': '/esim' },
}
/** Where every part, and every rule, says what there is to do about it. */
const PARTS = '/system'
const RULES = '/alerts'
/** Until the status answers, which a box without a core's first pass has none of. */
const LOOK_MS = 5_000
const MOST_SHOWN = 8

/** What needs somebody now: alerts that are open, and what the health says beside, each with a button. */
export function Needs({ status }: { readonly status: Query<AnswerOf<'GET', '/v1/status'>> }) {
  const alerts = useQuery(
    has('alerts') ? '/v1/alerts' : undefined,
    { query: { state: 'firing', limit: 50 } },
    { on: ['alert.*'] },
  )
  const isEarly = status.data === undefined && status.error !== undefined
  const early = useQuery(isEarly ? '/v1/health' : undefined, {}, { on: ['health.*'], everyMs: LOOK_MS })
  const health = isEarly ? early : status
  const firing = alerts.data?.alerts.filter(({ acked_at }) => acked_at === null) ?? []
  const told = new Set(firing.map(({ subject }) => subject))
  const ill = health.data?.components.filter(({ status, name }) => status !== 'ok' && !told.has(name)) ?? []
  return (
    <section class="card" aria-labelledby="needs">
      <h2 id="needs">{t('home.needs')}</h2>
      {early.error === undefined ? null : <ErrorNotice error={early.error} />}
      {health.data !== undefined && firing.length + ill.length === 0 ? (
        <p>
          {isKeptOff(tx.value) ? (
            <Lamp tone="none" label={t('home.needs.noneElse')} />
          ) : (
            <Lamp tone="ok" label={t('home.needs.none')} />
          )}
        </p>
      ) : null}
      <ul class="home-list">
        {has('alerts')
          ? firing
              .slice(0, MOST_SHOWN)
              .map((alert) => <AlertLine key={alert.id} alert={alert} onDone={alerts.reload} />)
          : null}
        {ill.slice(0, MOST_SHOWN).map((component) => (
          <ComponentLine key={component.name} component={component} onDone={health.reload} />
        ))}
      </ul>
    </section>
  )
}

function AlertLine({ alert, onDone }: { readonly alert: Alert; readonly onDone: () => void }) {
  const acknowledge = useAction(() => api.post('/v1/alerts/{id}/ack', { path: { id: alert.id }, body: {} }))
  const place = alert.rule.startsWith('sim_quota') ? `/sims/${alert.subject}` : PLACES[alert.rule]
  return (
    <li>
      <Lamp tone={TONES[alert.severity] ?? 'none'} label={word('home.severity', alert.severity)} />
      <span class="words">
        <Said>{alert.message}</Said>{' '}
        <span class="fine">
          <Time at={alert.started_at} relative />
        </span>
      </span>
      <Mend rule={alert.rule} onDone={onDone} />
      <Lead place={place ?? RULES} />
      {may('operator') ? (
        <Button isBusy={acknowledge.isBusy} onClick={() => void acknowledge.run().then(onDone)}>
          {t('home.acknowledge')}
        </Button>
      ) : null}
      {acknowledge.error === undefined ? null : <ErrorNotice error={acknowledge.error} />}
    </li>
  )
}

function ComponentLine({
  component,
  onDone,
}: {
  readonly component: Component
  readonly onDone: () => void
}) {
  const { name, kind, status, detail, since } = component
  return (
    <li>
      <Lamp tone={TONES[status] ?? 'none'} label={word('home.status', status)} />
      <span class="words">
        <strong>{name}</strong>: <Said>{detail}</Said>{' '}
        <span class="fine">
          <Time at={since} relative />
        </span>
      </span>
      <Mend rule={name === 'clock' ? 'clock_skew' : ''} onDone={onDone} />
      <Lead place={PLACES[kind] ?? PLACES_OF_PLUGINS[name.split('.', 1)[0] ?? ''] ?? PARTS} />
    </li>
  )
}

/** What can be mended from here: the clock, by somebody who sees that it is right. */
function Mend({ rule, onDone }: { readonly rule: string; readonly onDone: () => void }) {
  const confirm = useAction(() => api.post('/v1/clock/confirm', { body: { time: new Date().toISOString() } }))
  if (rule !== 'clock_skew' || !may('admin')) return null
  return (
    <>
      <Button isBusy={confirm.isBusy} onClick={() => void confirm.run().then(onDone)}>
        {t('home.confirmClock')}
      </Button>
      {confirm.error === undefined ? null : <ErrorNotice error={confirm.error} />}
    </>
  )
}

function Lead({ place }: { readonly place: string }) {
  const href = ifPage(place) ?? ifPage(PARTS)
  return href === undefined ? null : <ButtonLink href={href}>{t('home.look')}</ButtonLink>
}
