import type { AnswerOf } from '@steeple/client'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { ifPage } from '../../app/pages-here.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Bytes, bytesText } from '../../ui/bytes.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Lamp } from '../../ui/parts.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { clockText } from '../../ui/time.tsx'
import { follow } from '../subscriber/follow.ts'

type Usage = AnswerOf<'GET', '/v1/usage'>
type Talker = Usage['sims'][number]

const TALKERS = 5
/** Octets grow without an event, as often as a box counts them; people change labels. */
const LOOK = { on: ['sim.label', 'sim.bulk', 'sim.import', 'session.end'], everyMs: 15_000 } as const

/** What all SIMs have used today, hour by hour, and the five that have used most. */
export function UsageToday() {
  const usage = useQuery('/v1/usage', { query: { limit: TALKERS } }, LOOK)
  const page = ifPage('/usage')
  const { data, error } = usage
  return (
    <>
      <h3 class="fine">{t('home.usage')}</h3>
      <ErrorNotice error={error} onRetry={usage.reload} />
      {data === undefined ? null : <Today usage={data} />}
      {page === undefined ? null : <a href={page}>{t('home.usage.all')}</a>}
    </>
  )
}

function Today({ usage }: { readonly usage: Usage }) {
  const { total_bytes: total, down_bytes: down, up_bytes: up, sims, is_measured: isMeasured } = usage
  if (total === 0) return isMeasured ? <p>{t('home.usage.none')}</p> : <CountingOff />
  const amounts = { bytes: bytesText(total), down: bytesText(down), up: bytesText(up) }
  return (
    <>
      <p>{t('home.usage.sum', amounts)}</p>
      <Hours usage={usage} />
      <h3 class="fine">{t('home.talkers')}</h3>
      <ol class="home-list">
        {sims.map((talker) => (
          <TalkerLine key={talker.imsi_sha256_12} talker={talker} />
        ))}
      </ol>
    </>
  )
}

function CountingOff() {
  const settings = ifPage('/settings')
  return (
    <>
      <p>
        <Lamp tone="warn" label={t('home.usage.off')} />
      </p>
      {settings === undefined ? null : (
        <p>
          <a href={`${settings}?q=collector`}>{t('home.usage.turnOn')}</a>
        </p>
      )}
    </>
  )
}

const HOUR_MS = 3_600_000
/** Of the picture, in its own units; it is stretched to the card. A day that the clocks change in has another length. */
const [HOURS, HEIGHT] = [25, 40]

/** A bar for each hour of today: received below, sent on top of it. */
function Hours({ usage: { series, from, busiest_hour: busiest } }: { readonly usage: Usage }) {
  if (busiest === null) return null
  const scale = HEIGHT / busiest.total_bytes
  const most = { at: clockText(busiest.at), bytes: bytesText(busiest.total_bytes) }
  return (
    <svg
      class="home-hours"
      viewBox={`0 0 ${HOURS} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t('home.usage.hours', most)}
    >
      {series.map(({ at, down_bytes: down, total_bytes: total }) => {
        const x = (Date.parse(at) - Date.parse(from)) / HOUR_MS + 0.1
        return (
          <g key={at}>
            <rect class="up" x={x} y={HEIGHT - total * scale} width="0.8" height={total * scale} />
            <rect class="down" x={x} y={HEIGHT - down * scale} width="0.8" height={down * scale} />
          </g>
        )
      })}
    </svg>
  )
}

function TalkerLine({
  talker: { imsi_sha256_12: hash, total_bytes: bytes, label },
}: {
  readonly talker: Talker
}) {
  const sim = { path: { imsi: hash }, body: {} }
  const resume = useAction(() => api.post('/v1/sims/{imsi}/resume', sim), {
    onDone: () => follow('resume', hash, label ?? hash),
  })
  const suspend = useAction(() => api.post('/v1/sims/{imsi}/suspend', sim), {
    onDone: () => follow('suspend', hash, label ?? hash, () => void resume.run()),
  })
  const error = suspend.error ?? resume.error
  return (
    <li class="talker">
      <span class="words">
        <SubscriberName hash={hash} label={label} />{' '}
        {label === null ? null : <code class="fine">{hash}</code>}
      </span>
      <Bytes value={bytes} />
      {may('operator') ? (
        <Button
          icon="pause"
          kind="quiet"
          isBusy={suspend.isBusy}
          label={t('home.suspendOne', { name: label ?? hash })}
          onClick={() => void suspend.run()}
        >
          {t('home.suspend')}
        </Button>
      ) : null}
      <ErrorNotice error={error} />
    </li>
  )
}
