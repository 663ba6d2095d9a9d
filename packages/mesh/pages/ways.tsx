import { type AnswerOf, Bytes, bytesText, Lamp, type Tone, t, useQuery, word } from '@steeple/console/kit'

type Backhaul = AnswerOf<'GET', '/v1/mesh/backhaul'>

/** How much a link has moved, and how long an answer takes over it, change without an event. */
const LOOK_MS = 15_000
/** As often as a box counts what its way out carries. */
const BACKHAUL_LOOK_MS = 60_000
/** Links that are listed one by one. */
const MOST = 6
const TONES: Readonly<Record<string, Tone>> = { active: 'ok', stale: 'bad' }

/** The links to other boxes, and what the way out has carried this month. `boxes`: their sum; none is told by a service of an earlier version. */
export function Panel({ boxes: sum }: { readonly boxes?: AnswerOf<'GET', '/v1/status'>['boxes'] }) {
  const links = useQuery(
    '/v1/peers',
    { query: { limit: 500 } },
    { on: ['peer.*', 'mesh.*'], everyMs: LOOK_MS },
  )
  const backhaul = useQuery('/v1/mesh/backhaul', { query: { months: 1 } }, { everyMs: BACKHAUL_LOOK_MS })
  const peers = links.data?.peers ?? []
  const lost = peers.filter(({ state }) => state !== 'active')
  // Of many, those that somebody may have to look at.
  const shown = peers.length > MOST ? lost.slice(0, MOST) : peers
  return (
    <>
      {sum === undefined || sum.total === 0 ? null : (
        <p>
          <Lamp
            tone={sum.well < sum.total ? 'warn' : 'ok'}
            label={t('mesh.boxes.well', { well: sum.well, count: sum.total })}
          />
        </p>
      )}
      {peers.length === 0 ? <p class="fine">{t('home.noPeers')}</p> : null}
      {peers.length > MOST ? (
        <p>
          <a href="/mesh">{t('home.links', { count: peers.length, well: peers.length - lost.length })}</a>
        </p>
      ) : null}
      <ul class="home-list">
        {shown.map(({ id, name, state, rtt_ms, rx_bytes = 0, tx_bytes = 0 }) => (
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
      {backhaul.data === undefined ? null : <ThisMonth backhaul={backhaul.data} />}
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
