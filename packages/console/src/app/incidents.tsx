import type { AnswerOf } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { plugins } from '../api/features.ts'
import { may } from '../api/session.ts'
import { type Query, useQuery } from '../api/use-query.ts'
import { componentText, named, t, word } from '../text/index.ts'
import { ButtonLink } from '../ui/button.tsx'
import { type Component, HealthList } from '../ui/health-list.tsx'
import { Lamp, Said } from '../ui/parts.tsx'
import { clockText, Time } from '../ui/time.tsx'
import { ConfirmClock } from './confirm-clock.tsx'
import { ifPage, pageAt, pageThatMends, titleOf } from './pages-here.ts'

type Status = AnswerOf<'GET', '/v1/status'>
/** One outage, as the service tells it. */
export type Incident = AnswerOf<'GET', '/v1/health'>['incidents'][number]

/** After which events the status is read again, and how often besides; a refused change has it read at once, too. */
const CHANGES = {
  on: [
    ...['node.*', 'plugin.*', 'core.*', 'peer.*', 'clock.*', 'tx.*', 'lifecycle.*', 'config.*'],
    ...['health.*', 'incident.*', 'ran.*', 'sim.attached', 'sim.detached', 'sim.many', 'session.*'],
  ],
  everyMs: 30_000,
} as const
/** Until the status answers, which it does after the first look at the core. */
const EARLY_MS = 5_000

/** What was looked at, and what is wrong. */
export interface Board {
  readonly status: Query<Status>
  readonly components: readonly Component[]
  readonly incidents: readonly Incident[]
  /** When it was looked at, RFC 3339; undefined while nothing has come. */
  readonly at: string | undefined
  readonly error: Query<Status>['error']
  readonly reload: () => void
}

/** The status with its outages; the health while there is no status yet. */
export function useBoard(): Board {
  const status = useQuery('/v1/status', {}, CHANGES)
  const isEarly = status.data === undefined && status.error !== undefined
  const early = useQuery(isEarly ? '/v1/health' : undefined, {}, { on: ['health.*'], everyMs: EARLY_MS })
  const { data, reload } = isEarly ? early : status
  const at = useMemo(() => (data === undefined ? undefined : new Date().toISOString()), [data])
  return {
    ...{ status, at, reload },
    components: data?.components ?? [],
    incidents: data?.incidents ?? [],
    error: isEarly ? early.error : status.error,
  }
}

/** What was looked at when nothing is wrong. */
export function wellText({ components, at }: Pick<Board, 'components' | 'at'>): string {
  return t('incident.none', { count: components.length, time: at === undefined ? '' : clockText(at) })
}

/** Outages, the gravest first: what it is, what it means for phones, and what to do. `under` is shown below each. */
export function IncidentList({
  board: { incidents, components, reload },
  under,
}: {
  readonly board: Pick<Board, 'incidents' | 'components' | 'reload'>
  readonly under?: (incident: Incident) => ComponentChildren
}) {
  if (incidents.length === 0) return null
  return (
    <ul class="incidents">
      {incidents.map((incident) => (
        <IncidentLine key={incident.id} incident={incident} components={components} onDone={reload}>
          {under?.(incident)}
        </IncidentLine>
      ))}
    </ul>
  )
}

function IncidentLine({
  incident,
  components,
  onDone,
  children,
}: {
  readonly incident: Incident
  readonly components: readonly Component[]
  readonly onDone: () => void
  readonly children: ComponentChildren
}) {
  const { kind, severity, detail, component, boxes, effects, runbook, since, change } = incident
  const isCritical = severity === 'critical'
  const name = nameOf(incident)
  const advice = textOf('do', kind)
  const names = [component, ...effects]
  return (
    <li class={`notice ${isCritical ? 'bad' : 'warn'}`} aria-label={name}>
      <p class="sentence">
        <Lamp tone={isCritical ? 'bad' : 'warn'} label={named(word('incident.severity', severity), name)} />
      </p>
      <p>
        <Impact incident={incident} />{' '}
        <span class="fine">
          {t('incident.since')} <Time at={since} relative />
        </span>
      </p>
      {change === undefined ? null : (
        <p>
          <strong>
            {t(change.files.length === 0 ? 'incident.change.restart' : 'incident.change', {
              files: change.files.join(', '),
              parts: change.restarted.join(', '),
            })}
          </strong>
        </p>
      )}
      <p>{advice ?? <Said>{incident.advice}</Said>}</p>
      {CAUSE_FIRST.has(kind) || boxes.count > 1 ? (
        <p>
          <Said>{detail}</Said>
        </p>
      ) : null}
      <div class="actions">
        <Mend kind={kind} onDone={onDone} />
        <Lead
          kind={kind === 'part' && boxes.count > 0 ? OF_BOXES : kind}
          component={components.find((one) => one.name === component)}
          name={component}
        />
        <a href={runbook} target="_blank" rel="noopener">
          {t('incident.runbook')}
        </a>
      </div>
      <details>
        <summary>{t('incident.cause', { count: effects.length })}</summary>
        <HealthList
          components={names
            .flatMap((one) => components.find(({ name }) => name === one) ?? [])
            .map((one) => withoutCause(one, incident, CAUSE_FIRST.has(kind)))}
        />
        {components.some((one) => one.name === component) ? null : <Said>{detail}</Said>}
      </details>
      {children}
    </li>
  )
}

/** What to do depends on the cause alone. */
const CAUSE_FIRST: ReadonlySet<string> = new Set([
  'part',
  'store_gone',
  'radio_refused',
  'other_network',
  'core_degraded',
  'no_core',
  'disk_full',
  'no_internet',
])

/** Of some kinds there may be several: which of them it is. */
export function nameOf(
  {
    kind,
    component,
    box,
    boxes,
    title,
  }: Pick<Incident, 'kind' | 'component' | 'box' | 'title'> & Partial<Pick<Incident, 'boxes'>>,
  text: string = textOf('title', kind) ?? title,
): string {
  const { count = 0 } = boxes ?? {}
  if (count > 1) return t(kind === 'part' ? 'incident.boxes.ill' : 'incident.boxes', { count })
  if (box !== null) return kind === 'part' ? t('incident.box', { name: box }) : `${text} (${box})`
  if (kind === 'part') return componentText(component)
  return kind === 'certificate_ending' ? `${text} (${componentText(component)})` : text
}

/** As many letters of a cause are known again in what follows from it, which may have the rest cut off. */
const KNOWN_LETTERS = 40

/** A component without what the outage says already: the cause is not said once more by each that follows from it. */
function withoutCause(one: Component, { component, detail }: Incident, isSaid: boolean): Component {
  if (one.name === component) return isSaid ? { ...one, detail: '' } : one
  const at = detail === '' ? -1 : one.detail.indexOf(detail.slice(0, KNOWN_LETTERS))
  return at < 0 ? one : { ...one, detail: one.detail.slice(0, at).replace(/[:;,\s]+$/, '') }
}

/** What the console says of a kind; undefined of one that it does not know. */
function textOf(what: 'title' | 'impact' | 'do', kind: string): string | undefined {
  const text = word(`incident.${what}`, kind)
  return text === kind ? undefined : text
}

function Impact({ incident: { kind, impact, phones_off } }: { readonly incident: Incident }) {
  if (phones_off !== null) return <strong>{t('incident.phonesOff', { count: phones_off })}</strong>
  return <>{textOf('impact', kind) ?? <Said>{impact}</Said>}</>
}

/** What can be mended from here: the clock, by somebody who sees that it is right. */
export function Mend({ kind, onDone }: { readonly kind: string; readonly onDone: () => void }) {
  if (kind !== 'clock_wrong' || !may('admin')) return null
  return <ConfirmClock onDone={onDone} />
}

/** What ails other boxes is looked at where silent ones are. */
const OF_BOXES = 'box_silent'

/** The page of a part by its kind, and by its plugin, where none mends what it is. */
const PLACES_OF_PARTS: Readonly<Record<string, string>> = {
  ...{ ran: '/radio', core: '/core', hss: '/core', collector: '/sessions' },
}
const PLACES_OF_PLUGINS: Readonly<Record<string, string>> = {
  ...{ policy: '/radio', 'policy.license': '/rules', sims: '/sims', sessions: '/sessions' },
}
/** Where every part says how it is. */
const PARTS = '/system'

function Lead({
  kind,
  component,
  name,
}: {
  readonly kind: string
  readonly component: Component | undefined
  readonly name: string
}) {
  const page = pageThatMends(kind) ?? pageAt(placeOf(component?.kind ?? '', name)) ?? pageAt(PARTS)
  const verb = word('incident.act', kind)
  const also = ALSO[kind] === undefined ? undefined : ifPage(ALSO[kind])
  return (
    <>
      {page === undefined || page.path === location.pathname ? null : (
        <ButtonLink href={page.path}>
          {verb === kind ? t('incident.open', { page: titleOf(page) }) : verb}
        </ButtonLink>
      )}
      {also === undefined || also === location.pathname ? null : (
        <ButtonLink href={also}>{word('incident.also', kind)}</ButtonLink>
      )}
    </>
  )
}

/** Where it can be mended in another way. */
const ALSO: Readonly<Record<string, string>> = { other_network: '/start' }

/** `notes.store` is a part of the plugin `notes`. */
function placeOf(kind: string, name: string): string {
  const [plugin = ''] = name.split('.', 1)
  const { pages = [], panels = [] } = plugins.value?.find((one) => one.name === plugin) ?? {}
  const own = pages[0]?.path ?? panels.map(({ on }) => ifPage(`/${on}`)).find((page) => page !== undefined)
  return PLACES_OF_PARTS[kind] ?? PLACES_OF_PLUGINS[name] ?? PLACES_OF_PLUGINS[plugin] ?? own ?? PARTS
}

/** Whether an outage says what an alert about `subject` says: `disk` is the component `nodes.disk`. */
export function isAbout(
  {
    component,
    effects,
    boxes,
  }: {
    readonly component: string
    readonly effects: readonly string[]
    readonly boxes?: { readonly count: number; readonly names: readonly string[] }
  },
  subject: string,
): boolean {
  // Of many boxes not all are named.
  if (boxes !== undefined && boxes.count > boxes.names.length && subject.startsWith('node/')) return true
  return [component, ...effects].some((name) => name === subject || name.endsWith(`.${subject}`))
}
