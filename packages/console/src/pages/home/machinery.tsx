import type { AnswerOf } from '@steeple/client'
import { has } from '../../api/features.ts'
import { type Query, useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Bytes, bytesText } from '../../ui/bytes.tsx'
import { Lamp, type Tone } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'

type Status = AnswerOf<'GET', '/v1/status'>
type Backhaul = AnswerOf<'GET', '/v1/mesh/backhaul'>
type Peer = AnswerOf<'GET', '/v1/peers'>['peers'][number]

/** How much a link has moved, and how long an answer takes over it, change without an event. */
const LOOK_MS = 15_000
/** As often as a box counts what its way out carries. */
const BACKHAUL_LOOK_MS = 60_000
const TONES: Readonly<Record<string, Tone>> = {
  ok: 'ok',
  degraded: 'warn',
  down: 'bad',
  active: 'ok',
  stale: 'bad',
}
const KINDS: readonly string[] = ['ran', 'core', 'hss', 'collector']

/** The ways out and to other boxes, and the radio and core behind. */
export function Machinery({ status }: { readonly status: Query<Status> }) {
  const peers = useQuery(
    has('mesh') ? '/v1/peers' : undefined,
    { query: { limit: 50 } },
    { on: ['peer.*', 'mesh.*'], everyMs: LOOK_MS },
  )
  const backhaul = useQuery(
    has('mesh') ? '/v1/mesh/backhaul' : undefined,
    { query: { months: 1 } },
    { everyMs: BACKHAUL_LOOK_MS },
  )
  return (
    <>
      <section class="card" aria-labelledby="ways">
        <h2 id="ways">{t('home.ways')}</h2>
        {status.error === undefined ? null : <ErrorNotice error={status.error} />}
        {status.data === undefined ? null : <Ways status={status.data} peers={peers.data?.peers ?? []} />}
        {backhaul.data === undefined ? null : <ThisMonth backhaul={backhaul.data} />}
      </section>
      <section class="card" aria-labelledby="machinery">
        <h2 id="machinery">{t('home.machinery')}</h2>
        {status.data === undefined ? null : <Parts status={status.data} />}
      </section>
    </>
  )
}

function Ways({ status, peers }: { readonly status: Status; readonly peers: readonly Peer[] }) {
  return (
    <>
      <p>{t('home.breakout', { mode: word('home.breakout', status.breakout.mode) })}</p>
      {peers.length === 0 ? <p class="fine">{t('home.noPeers')}</p> : null}
      <ul class="home-list">
        {peers.map(({ id, name, state, rtt_ms, rx_bytes = 0, tx_bytes = 0 }) => (
          <li key={id}>
            <Lamp tone={TONES[state] ?? 'none'} label={name} />
            <span class="words fine">
              {word('home.peer', state)}
              {typeof rtt_ms === 'number' ? `, ${Math.round(rtt_ms)} ms` : ''}
            </span>
            <Bytes value={rx_bytes + tx_bytes} />
          </li>
        ))}
      </ul>
    </>
  )
}

/** What the way out has carried this month, of what it may carry. */
function ThisMonth({ backhaul: { cap_bytes: cap, months } }: { readonly backhaul: Backhaul }) {
  const [month] = months
  if (month === undefined) return null
  const isOver = cap !== null && month.total_bytes >= cap
  return (
    <p>
      <Lamp
        tone={isOver ? 'warn' : 'none'}
        label={t(cap === null ? 'home.backhaul' : 'home.backhaul.of', {
          used: bytesText(month.total_bytes),
          cap: bytesText(cap ?? 0),
        })}
      />
    </p>
  )
}

function Parts({ status }: { readonly status: Status }) {
  const { enb, ue, components } = status
  const radio = enb.known ? enb.connected : null
  const parts = components.filter(({ kind }) => KINDS.includes(kind))
  const ill = parts.filter(({ status: state }) => state !== 'ok')
  const well = parts.length - ill.length
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
      <p>{ue.attached === null ? t('home.attached.unknown') : t('home.attached', { count: ue.attached })}</p>
      <ul class="home-list">
        {ill.map(({ name, kind, status: state, since }) => (
          <li key={name}>
            <Lamp tone={TONES[state] ?? 'none'} label={name} />
            <span class="fine">
              {word('home.kind', kind)}, {word('home.status', state)}, <Time at={since} relative />
            </span>
          </li>
        ))}
        {well === 0 ? null : (
          <li>
            <Lamp tone="ok" label={t('home.well', { count: well })} />
          </li>
        )}
      </ul>
    </>
  )
}
