import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { plugins } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { type Query, useAction, useQuery } from '../../api/use-query.ts'
import { isKeptOff } from '../../app/kept-off.ts'
import { ifPage } from '../../app/pages-here.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { tx } from '../../app/transmitter.tsx'
import { t, word } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Lamp, type Tone } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'

type Component = AnswerOf<'GET', '/v1/health'>['components'][number]

const TONES: Readonly<Record<string, Tone>> = {
  critical: 'bad',
  down: 'bad',
  warning: 'warn',
  degraded: 'warn',
}
/** The page on which something about a kind of component is looked at and mended. */
const PLACES: Readonly<Record<string, string>> = {
  ran: '/radio',
  core: '/core',
  hss: '/core',
  collector: '/sessions',
}
/** The same of the parts of a plugin that are of no kind of their own, and that has no page of its own. */
const PLACES_OF_PLUGINS: Readonly<Record<string, string>> = {
  ...{ policy: '/radio', sims: '/sims', sessions: '/sessions', 'core-config': '/core' },
}
/** Where every part says what there is to do about it. */
const PARTS = '/system'
/** Until the status answers, which a box without a core's first pass has none of. */
const LOOK_MS = 5_000
const MOST_SHOWN = 8

/** What needs somebody now: what plugins tell of, and what the health says beside, each with a button. */
export function Needs({ status }: { readonly status: Query<AnswerOf<'GET', '/v1/status'>> }) {
  /** What plugins say is wrong is said by them, with what there is to do. */
  const [told, setTold] = useState<readonly string[]>([])
  const isEarly = status.data === undefined && status.error !== undefined
  const early = useQuery(isEarly ? '/v1/health' : undefined, {}, { on: ['health.*'], everyMs: LOOK_MS })
  const health = isEarly ? early : status
  const ill =
    health.data?.components.filter(({ status, name }) => status !== 'ok' && !told.includes(name)) ?? []
  return (
    <section class="card" aria-labelledby="needs">
      <h2 id="needs">{t('home.needs')}</h2>
      {early.error === undefined ? null : <ErrorNotice error={early.error} />}
      {health.data !== undefined && told.length + ill.length === 0 ? (
        <p>
          {isKeptOff(tx.value) ? (
            <Lamp tone="none" label={t('home.needs.noneElse')} />
          ) : (
            <Lamp tone="ok" label={t('home.needs.none')} />
          )}
        </p>
      ) : null}
      <ul class="home-list">
        <Panels on="overview.needs" onTold={setTold} Act={Act} />
        {ill.slice(0, MOST_SHOWN).map((component) => (
          <ComponentLine key={component.name} component={component} onDone={health.reload} />
        ))}
      </ul>
    </section>
  )
}

/** What can be done about something that is wrong: mend it here, or go where it is looked at. */
function Act({
  rule,
  place,
  onDone,
}: {
  readonly rule: string
  readonly place: string
  readonly onDone: () => void
}) {
  return (
    <>
      <Mend rule={rule} onDone={onDone} />
      <Lead place={place} />
    </>
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
      <Act rule={name === 'clock' ? 'clock_skew' : ''} place={placeOf(kind, name)} onDone={onDone} />
    </li>
  )
}

/** `notes.store` is a part of the plugin `notes`. */
function placeOf(kind: string, name: string): string {
  const [plugin = ''] = name.split('.', 1)
  const own = plugins.value?.find((one) => one.name === plugin)?.pages[0]?.path
  return PLACES[kind] ?? PLACES_OF_PLUGINS[plugin] ?? own ?? PARTS
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
