import { type Query, useQuery } from '../../api/use-query.ts'
import { StopButton, type Tx, tx } from '../../app/transmitter.tsx'
import { componentText, locale, t, word } from '../../text/index.ts'
import { hasNoCell } from '../sessions/no-cell.ts'
import { Needs } from './needs.tsx'
import './home.css'
import type { AnswerOf, Change } from '@steeple/client'
import { useEffect, useState } from 'preact/hooks'
import { listen, recent } from '../../api/changes.ts'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { type Board, useBoard } from '../../app/incidents.tsx'
import { closedGates, GATES } from '../../app/kept-off.ts'
import { ifPage, pageThatMends } from '../../app/pages-here.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { Time } from '../../ui/time.tsx'
import { whoText } from '../../ui/who.ts'
import { happened, UNTOLD } from './untold.ts'
import { UsageToday } from './usage-today.tsx'

/** Octets grow without an event, as often as a box counts them. */
const LOOK_MS = 15_000
/** The largest page of a list; beyond it a number is said as "more than". */
const PAGE = 500
/** What suspends somebody, or lets them on again. */
const SUSPENDING = [
  ...['sim.suspend', 'sim.resume', 'sim.revoke', 'sim.expire', 'sim.unexpire', 'sim.bulk', 'sim.label'],
]

/** Who is on, who is off and why, and what is used today. */
function People({ status, incidents }: { readonly status: Status | undefined } & Pick<Board, 'incidents'>) {
  const sessions = useQuery(
    '/v1/sessions',
    { query: { limit: PAGE } },
    { on: ['session.*'], everyMs: LOOK_MS },
  )
  const suspended = useQuery('/v1/sims', { query: { state: 'suspended', limit: PAGE } }, { on: SUSPENDING })
  const open = new Set(sessions.data?.sessions.map(({ imsi_sha256_12: hash }) => hash)).size
  // A core keeps the sessions of phones that have lost their network.
  const lost = Math.max(0, ...incidents.map(({ phones_off }) => phones_off ?? 0))
  const online = status !== undefined && hasNoCell(status) ? 0 : Math.max(0, open - lost)
  const off = suspended.data?.sims ?? []
  // A service of an earlier version does not count them.
  const foreign = status?.foreign_subscribers ?? 0
  const isMore = (next: string | null | undefined): boolean => next !== null && next !== undefined
  return (
    <section class="card" aria-labelledby="people">
      <h2 id="people">{t('home.people')}</h2>
      {sessions.error === undefined ? null : <ErrorNotice error={sessions.error} />}
      <dl class="figures">
        <Figure
          name={t('home.online')}
          count={online}
          isMore={isMore(sessions.data?.next_cursor)}
          href="/sessions"
        />
        <Figure
          name={t('home.suspended')}
          count={off.length}
          isMore={isMore(suspended.data?.next_cursor)}
          href="/sims?state=suspended"
        />
        <Panels on="overview.people" suspended={off} />
      </dl>
      {online === 0 ? <p>{t('home.nobody')}</p> : null}
      {foreign === 0 ? null : (
        <p>
          <a href="/sims/foreign">{t('home.foreign', { count: foreign })}</a>
        </p>
      )}
      <UsageToday />
    </section>
  )
}

function Figure({
  name,
  count,
  isMore = false,
  href = '',
}: {
  readonly name: string
  readonly count: number
  readonly isMore?: boolean
  readonly href?: string
}) {
  const [path = ''] = href.split('?')
  const text = `${isMore ? '> ' : ''}${count.toLocaleString(locale())}`
  return (
    <div>
      <dt>{ifPage(path) === undefined || path === '' ? name : <a href={href}>{name}</a>}</dt>
      <dd>{text}</dd>
    </div>
  )
}

type Status = AnswerOf<'GET', '/v1/status'>

const KINDS: readonly string[] = ['ran', 'core', 'hss', 'collector']

/** The ways out and to other boxes, and the radio and core behind. */
function Machinery({ status }: { readonly status: Query<Status> }) {
  return (
    <>
      <section class="card" aria-labelledby="ways">
        <h2 id="ways">{t('home.ways')}</h2>
        {status.error === undefined ? null : <ErrorNotice error={status.error} />}
        {status.data === undefined ? null : (
          <>
            <p>{t('home.breakout', { mode: word('home.breakout', status.data.breakout.mode) })}</p>
            <Panels on="overview.ways" />
          </>
        )}
      </section>
      <section class="card" aria-labelledby="machinery">
        <h2 id="machinery">{t('home.machinery')}</h2>
        {status.data === undefined ? null : <Parts status={status.data} />}
      </section>
    </>
  )
}

function Parts({ status }: { readonly status: Status }) {
  const { enb, ue, components } = status
  const radio = enb.known ? enb.connected : null
  // What is not well stands above, with the outage that it belongs to.
  const well = components.filter(({ kind, status: state }) => KINDS.includes(kind) && state === 'ok').length
  return (
    <>
      <p>
        <Lamp
          tone={radio === null ? 'none' : radio ? 'ok' : 'bad'}
          label={t(
            radio === null ? 'home.radio.unknown' : radio ? 'home.radio.connected' : 'home.radio.gone',
          )}
        />
      </p>
      {radio === false ? null : (
        <p>
          {ue.attached === null ? t('home.attached.unknown') : t('home.attached', { count: ue.attached })}
        </p>
      )}
      {well === 0 ? null : (
        <p>
          <Lamp tone="ok" label={t('home.well', { count: well })} />
        </p>
      )}
    </>
  )
}

type Entry = AnswerOf<'GET', '/v1/audit'>['entries'][number]

/** Something that happened, from whichever told it. */
interface Happening {
  readonly key: string
  readonly at: string
  readonly type: string
  readonly subject: string
  /** Of the SIM that it happened to, where that is known. */
  readonly label?: string | null
  /** Who did it; undefined for what happens by itself. */
  readonly who: string | undefined
}

/** What changes labels. */
const RELABELLED = ['sim.label', 'sim.bulk', 'sim.import']

/** Labels of a few SIMs that an event names: events have none. Read once, and after they may have changed. */
function useLabels(hashes: readonly string[]): ReadonlyMap<string, string> {
  const [labels, setLabels] = useState<ReadonlyMap<string, string>>(new Map())
  const wanted = hashes.toSorted().join(' ')
  useEffect(() => {
    if (wanted === '') return undefined
    let isOver = false
    const look = async (): Promise<void> => {
      const found = await Promise.all(wanted.split(' ').map(labelOf))
      if (!isOver) setLabels(new Map(found.flat()))
    }
    void look()
    const stop = listen(RELABELLED, () => void look())
    return () => {
      isOver = true
      stop()
    }
  }, [wanted])
  return labels
}

async function labelOf(hash: string): Promise<readonly (readonly [hash: string, label: string])[]> {
  const answer = await api.get('/v1/sims/{imsi}', { path: { imsi: hash } })
  const label = answer.ok ? answer.data.label : null
  return label === null ? [] : [[hash, label]]
}

const SHOWN = 10
/** An entry and the event of the same change are written together. */
const SAME_MS = 3_000
const HASH = /^[0-9a-f]{12}$/

/** The last ten things that happened, in plain words. Who may not read the trail sees what happens from now on. */
function Happenings() {
  const trail = useQuery(
    may('operator') ? '/v1/audit' : undefined,
    { query: { limit: 2 * SHOWN } },
    { on: ['*'] },
  )
  const rows = merged(trail.data?.entries ?? [], recent.value)
  const unnamed = rows.filter(({ subject, label }) => label === undefined && HASH.test(subject))
  const labels = useLabels([...new Set(unnamed.map(({ subject }) => subject))])
  const audit = ifPage('/audit')
  return (
    <section class="card" aria-labelledby="happenings">
      <h2 id="happenings">{t('home.happenings')}</h2>
      {rows.length === 0 ? <p>{t('home.happenings.none')}</p> : null}
      <ol class="home-list">
        {rows.map(({ key, at, type, subject, label, who }) => (
          <li key={key}>
            <span class="words">
              {word('event', type)} {subjectOf(type, subject, label ?? labels.get(subject))}
            </span>
            <span class="fine by-whom">
              {who === undefined ? null : <span>{who}</span>}
              <Time at={at} relative />
            </span>
          </li>
        ))}
      </ol>
      {audit === undefined ? null : <a href={audit}>{t('home.trail')}</a>}
    </section>
  )
}

/** Whom or what it happened to, where that says something. */
function subjectOf(type: string, subject: string, label: string | undefined) {
  if (HASH.test(subject)) return <SubscriberName hash={subject} label={label ?? null} />
  return type.startsWith('health.') ? <strong>{componentText(subject)}</strong> : null
}

function merged(entries: readonly Entry[], changes: readonly Change[]): readonly Happening[] {
  const asked = entries
    .filter(({ outcome }) => outcome === 'ok')
    .map((entry) => ({
      key: `a${entry.seq}`,
      at: entry.at,
      type: happened(entry),
      subject: entry.target,
      label: entry.label,
      who: entry.principal.kind === 'system' ? undefined : whoText(entry.principal),
    }))
  const isTold = ({ type, at }: Change): boolean =>
    asked.some((one) => one.type === type && Math.abs(Date.parse(one.at) - Date.parse(at)) < SAME_MS)
  const own = changes
    .filter((change) => !UNTOLD.includes(change.type) && !isTold(change))
    .map(({ id, at, type, subject }) => ({ key: `e${id}`, at, type, subject: subject ?? '', who: undefined }))
  return [...asked, ...own].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, SHOWN)
}

/** The first screen: whether the box is on the air, what needs somebody, who is on, what it is connected to, what happened. */
export function Page() {
  const board = useBoard()
  return (
    <>
      <h1>{t('home.title')}</h1>
      <Truth state={tx.value} incidents={board.incidents} />
      <Needs board={board} />
      <div class="columns">
        <People status={board.status.data} incidents={board.incidents} />
        <div>
          <Machinery status={board.status} />
        </div>
        <Happenings />
      </div>
    </>
  )
}

/** One sentence: on the air or not, because …; the lights of the three gates; Stop. */
function Truth({ state, incidents }: { readonly state: Tx | undefined } & Pick<Board, 'incidents'>) {
  if (state === undefined) return null
  const isSilent = state.armed && state.transmitter === 'off'
  const why = isSilent ? incidents.find(({ kind }) => pageThatMends(kind)?.path === '/radio') : undefined
  return (
    <section class="card truth" aria-label={t('home.title')}>
      <p class="sentence">{sentenceOf(state)}</p>
      {why === undefined ? null : (
        <p>
          <Said>{why.detail}</Said>
        </p>
      )}
      <ul class="gates">
        {GATES.map((gate) => (
          <li key={gate}>
            <Lamp
              tone={state.gates[gate] === 'set' ? 'ok' : 'bad'}
              label={`${t(`home.gate.${gate}`)}: ${t(state.gates[gate] === 'set' ? 'home.gate.set' : 'home.gate.missing')}`}
            />
          </li>
        ))}
      </ul>
      <div class="actions">
        <Ahead state={state} />
        <StopButton />
      </div>
    </section>
  )
}

/** Where what is missing is to be had. */
function Ahead({ state }: { readonly state: Tx }) {
  const isOpen = closedGates(state).length === 0
  const href = ifPage(isOpen ? '/radio' : state.gates.country_code === 'set' ? '/rules' : '/start')
  if (href === undefined || state.armed) return null
  const text = { '/radio': 'home.arm', '/rules': 'home.gates', '/start': 'home.setUp' } as const
  return <ButtonLink href={href}>{t(text[href as keyof typeof text])}</ButtonLink>
}

function sentenceOf(state: Tx): string {
  if (state.transmitter === 'on') return t('home.onAir')
  if (state.transmitter === 'unconfirmed') return t('home.unconfirmed')
  const missing = closedGates(state).map((gate) => t(`home.because.${gate}`))
  if (missing.length > 0) return t('home.offAir.gates', { reasons: missing.join(t('home.and')) })
  return t(state.armed ? 'home.offAir.armed' : 'home.offAir.ready')
}
