import './home.css'
import type { AnswerOf } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Query, useQuery } from '../../api/use-query.ts'
import { type Board, IncidentList, isAbout, Mend, useBoard, wellText } from '../../app/incidents.tsx'
import { closedGates, GATES, isKeptOff } from '../../app/kept-off.ts'
import { coreOutage, radioOutage } from '../../app/outages.tsx'
import { ifPage, pageThatMends } from '../../app/pages-here.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { StopButton, type Tx, tx } from '../../app/transmitter.tsx'
import { locale, named, t, word } from '../../text/index.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Card, Lamp, Said } from '../../ui/parts.tsx'
import { clockText } from '../../ui/time.tsx'
import { hasNoCell } from '../sessions/columns.tsx'
import { Happenings } from './happenings.tsx'
import { type Outage, Over, recoveringFrom, useOutages } from './over.tsx'
import { UsageToday } from './usage-today.tsx'

/** Octets grow without an event, as often as a box counts them. */
const LOOK_MS = 15_000
/** The largest page of a list; beyond it a number is said as "more than". */
const PAGE = 500
/** What suspends somebody, or lets them on again. */
const SUSPENDING = [
  ...['sim.suspend', 'sim.resume', 'sim.revoke', 'sim.expire', 'sim.unexpire', 'sim.bulk', 'sim.label'],
]

type Sessions = Query<AnswerOf<'GET', '/v1/sessions'>>

/** How many phones are online, undefined until it is known, and the list that says so. */
function useOnline(
  status: Status | undefined,
  incidents: Board['incidents'],
): readonly [Sessions, number | undefined] {
  const sessions = useQuery(
    '/v1/sessions',
    { query: { limit: PAGE } },
    { on: ['session.*'], everyMs: LOOK_MS },
  )
  const open = new Set(sessions.data?.sessions.map(({ imsi_sha256_12: hash }) => hash)).size
  // A core keeps the sessions of phones that have lost their network.
  const lost = Math.max(0, ...incidents.map(({ phones_off }) => phones_off ?? 0))
  if (status !== undefined && hasNoCell(status)) return [sessions, 0]
  return [sessions, sessions.data === undefined ? undefined : Math.max(0, open - lost)]
}

/** Who is on, who is off and why, and what is used today. */
function People({
  status,
  sessions,
  online,
  past,
}: {
  readonly status: Status | undefined
  readonly sessions: Sessions
  readonly online: number | undefined
  readonly past: readonly Outage[]
}) {
  const suspended = useQuery('/v1/sims', { query: { state: 'suspended', limit: PAGE } }, { on: SUSPENDING })
  const off = suspended.data?.sims ?? []
  // A service of an earlier version does not count them.
  const foreign = status?.foreign_subscribers ?? 0
  const isMore = (next: string | null | undefined): boolean => next !== null && next !== undefined
  return (
    <Card title={t('home.people')}>
      <ErrorNotice error={sessions.error} />
      <dl class="figures">
        <Figure
          name={t('home.online')}
          count={online}
          isMore={isMore(sessions.data?.next_cursor)}
          href="/sessions"
        />
        <Figure
          name={t('home.suspended')}
          count={suspended.data === undefined ? undefined : off.length}
          isMore={isMore(suspended.data?.next_cursor)}
          href="/sims?state=suspended"
        />
        <Panels on="overview.people" suspended={off} />
      </dl>
      {online === 0 ? (
        <p>{t(recoveringFrom(past, online) === undefined ? 'home.nobody' : 'home.recovering')}</p>
      ) : null}
      {foreign === 0 ? null : (
        <p>
          <a href="/sims/foreign">{t('home.foreign', { count: foreign })}</a>
        </p>
      )}
      <UsageToday />
    </Card>
  )
}

function Figure({
  name,
  count,
  isMore = false,
  href = '',
}: {
  readonly name: string
  /** Undefined until it is known: none would be a fact. */
  readonly count: number | undefined
  readonly isMore?: boolean
  readonly href?: string
}) {
  const [path = ''] = href.split('?')
  const text = count === undefined ? '–' : `${isMore ? '> ' : ''}${count.toLocaleString(locale())}`
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
function Machinery({ status, past }: { readonly status: Query<Status>; readonly past: readonly Outage[] }) {
  return (
    <>
      <Card title={t('home.ways')}>
        <ErrorNotice error={status.error} />
        {status.data === undefined ? null : (
          <>
            <Internet status={status.data} />
            <Panels on="overview.ways" boxes={status.data.boxes} />
          </>
        )}
      </Card>
      <Card title={t('home.machinery')}>
        {status.data === undefined ? null : <Parts status={status.data} past={past} />}
      </Card>
    </>
  )
}

/** What the look at the internet found, in the words of that outage; and the way of the phones where it is through other boxes. */
function Internet({ status: { breakout, components, internet } }: { readonly status: Status }) {
  const line = components.find(({ name }) => name === 'nodes.internet')
  const [tone, text] =
    internet === null
      ? (['none', 'home.internet.unknown'] as const)
      : internet
        ? (['ok', 'home.internet'] as const)
        : (['bad', 'home.internet.gone'] as const)
  return (
    <>
      {line === undefined ? null : (
        <>
          <p>
            <Lamp tone={tone} label={t(text)} />
          </p>
          <p class="fine">
            <Said>{line.detail}</Said>
          </p>
        </>
      )}
      {breakout.mode === 'peer' ? (
        <p>{t('home.breakout', { mode: word('home.breakout', breakout.mode) })}</p>
      ) : null}
    </>
  )
}

/** Whether a radio that is not seen yet is on its way: its outage is over. */
function isComingBack(incidents: Status['incidents'], past: readonly Outage[]): boolean {
  return radioOutage(incidents) === undefined && recoveringFrom(past, 0) !== undefined
}

/** Red is an outage alone: a box that has seen no base station yet may look at another part of the core than they are at. */
function RadioLamp({ status: { enb, incidents }, past }: Parameters<typeof Parts>[0]) {
  if (!enb.known) return <Lamp tone="none" label={t('home.radio.unknown')} />
  if (enb.connected) return <Lamp tone="ok" label={t('home.radio.connected')} />
  if (isComingBack(incidents, past)) return <Lamp tone="none" label={t('home.radio.back')} />
  const isGone = incidents.some(({ kind }) => kind === 'no_radio')
  return <Lamp tone={isGone ? 'bad' : 'none'} label={t(isGone ? 'home.radio.gone' : 'home.radio.none')} />
}

function Parts({ status, past }: { readonly status: Status; readonly past: readonly Outage[] }) {
  const { enb, ue, components, incidents } = status
  const core = coreOutage(incidents)
  if (core !== undefined)
    return (
      <p>
        <Lamp tone="none" label={t('home.radio.since', { time: clockText(core.since) })} />
      </p>
    )
  if (enb.other_networks.length > 0)
    return (
      <p>
        <Lamp tone="warn" label={t('home.radio.other', { others: enb.other_networks.join(', ') })} />
      </p>
    )
  // What is not well stands above, with the outage that it belongs to.
  const well = components.filter(({ kind, status: state }) => KINDS.includes(kind) && state === 'ok').length
  return (
    <>
      <p>
        <RadioLamp status={status} past={past} />
      </p>
      {enb.connected ? (
        <p>
          {ue.attached === null ? t('home.attached.unknown') : t('home.attached', { count: ue.attached })}
        </p>
      ) : null}
      {well === 0 ? null : (
        <p>
          <Lamp tone="ok" label={t('home.well', { count: well })} />
        </p>
      )}
    </>
  )
}

/** The first screen: whether the box is on the air, what needs somebody, who is on, what it is connected to, what happened. */
export function Page() {
  const board = useBoard()
  const past = useOutages()
  const [sessions, online] = useOnline(board.status.data, board.incidents)
  // What is wrong comes first; on a phone it is all there is room for.
  const parts = [
    <Needs key="needs" board={board}>
      {sessions.isLoading ? null : <Over past={past} online={online ?? 0} incidents={board.incidents} />}
    </Needs>,
    <Truth
      key="truth"
      state={tx.value}
      incidents={board.incidents}
      isForeign={board.status.data?.enb.connected === true}
    />,
  ]
  return (
    <>
      <h1>{t('home.title')}</h1>
      {board.incidents.length > 0 ? parts : parts.toReversed()}
      <div class="columns">
        <People status={board.status.data} sessions={sessions} online={online} past={past} />
        <div>
          <Machinery status={board.status} past={past} />
        </div>
        <Happenings status={board.status.data} past={past} />
      </div>
    </>
  )
}

/** One sentence: on the air or not, because …; the lights of the three gates; Stop. `isForeign`: a base station is at the core. */
function Truth({
  state,
  incidents,
  isForeign,
}: { readonly state: Tx | undefined; readonly isForeign: boolean } & Pick<Board, 'incidents'>) {
  if (state === undefined) return null
  const isOthers = isForeign && !state.armed && state.transmitter === 'off'
  const isSilent = state.armed && state.transmitter === 'off'
  const why = isSilent ? incidents.find(({ kind }) => pageThatMends(kind)?.path === '/radio') : undefined
  const worst = incidents.find(({ severity }) => severity === 'critical')
  return (
    <section class="card truth" aria-label={t('home.title')}>
      <p class="sentence">{isOthers ? t('home.radio.others') : sentenceOf(state, isForeign)}</p>
      {why === undefined ? null : (
        <p>
          <Said>{why.detail}</Said>
        </p>
      )}
      {isOthers || (worst !== undefined && closedGates(state).length === 0) ? null : <Gates state={state} />}
      <div class="actions">
        {isOthers ? null : <Ahead state={state} />}
        <StopButton />
      </div>
    </section>
  )
}

/** The lights of what the transmitter needs. During an outage they would be green beside what is wrong. */
function Gates({ state }: { readonly state: Tx }) {
  return (
    <ul class="gates">
      {GATES.map((gate) => (
        <li key={gate}>
          <Lamp
            tone={state.gates[gate] === 'set' ? 'ok' : 'bad'}
            label={named(
              t(`home.gate.${gate}`),
              t(state.gates[gate] === 'set' ? 'home.gate.set' : 'home.gate.missing'),
            )}
          />
        </li>
      ))}
    </ul>
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

function sentenceOf(state: Tx, isForeign: boolean): string {
  if (state.transmitter === 'on') return t('home.onAir')
  if (state.transmitter === 'unconfirmed') return t('home.unconfirmed')
  const missing = closedGates(state).map((gate) => t(`home.because.${gate}`))
  if (missing.length > 0) return t('home.offAir.gates', { reasons: missing.join(t('home.and')) })
  if (!state.armed) return t('home.offAir.ready')
  return t(isForeign ? 'home.offAir.armedOthers' : 'home.offAir.armed')
}

/** What needs somebody now: the outages, and what plugins tell of beside them. */
function Needs({
  board,
  children,
}: {
  readonly board: Board
  /** What is over. */
  readonly children: ComponentChildren
}) {
  const [told, setTold] = useState<readonly string[]>([])
  const { at, error, incidents } = board
  const isKnown = (subject: string): boolean => incidents.some((incident) => isAbout(incident, subject))
  const isKept = isKeptOff(tx.value)
  return (
    <Card id="needs" title={t('home.needs')}>
      <ErrorNotice error={error} />
      {at !== undefined && told.length + incidents.length === 0 ? (
        <p>
          <Lamp tone={isKept ? 'none' : 'ok'} label={wellText(board)} />
          {isKept ? <> {t('home.needs.keptOff')}</> : null}
        </p>
      ) : null}
      <IncidentList board={board} />
      {children}
      <ul class="home-list">
        <Panels on="overview.needs" isKnown={isKnown} status={board.status.data} onTold={setTold} Act={Act} />
      </ul>
    </Card>
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
  const href = ifPage(place) ?? ifPage('/system')
  return (
    <>
      <Mend kind={rule === 'clock_skew' ? 'clock_wrong' : ''} onDone={onDone} />
      {href === undefined ? null : <ButtonLink href={href}>{t('home.look')}</ButtonLink>}
    </>
  )
}
