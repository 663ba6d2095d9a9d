import type { ComponentChildren } from 'preact'
import { t, word } from '../../text/index.ts'
import { rateText } from '../../ui/bytes.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Time } from '../../ui/time.tsx'
import { pageOf, type Sim } from '../sims/sim.tsx'

/** What is known of a SIM. */
export function Facts({ sim }: { readonly sim: Sim }) {
  const {
    imsi_sha256_12: hash,
    ambr,
    provisioning: { status, driver },
  } = sim
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    [
      t('sims.hash'),
      <>
        <code>{hash}</code> <Copy text={hash} />
      </>,
    ],
    [t('sims.iccid'), sim.iccid_last4 === null ? '–' : `…${sim.iccid_last4}`],
    [t('order.msisdn'), sim.msisdn ?? '–'],
    [t('sim.apns'), sim.apns.join(', ')],
    [t('sim.speed'), `↓ ${rateText(ambr.downlink_bps)} ↑ ${rateText(ambr.uplink_bps)}`],
    [
      t('sims.filter.profile'),
      <a href={`/sims?profile=${encodeURIComponent(sim.profile)}`}>{sim.profile}</a>,
    ],
    [t('sim.issued'), <Time at={sim.issued_at} />],
    [
      t('sim.firstAttach'),
      sim.first_attach_at === null ? t('sims.never') : <Time at={sim.first_attach_at} />,
    ],
    [
      t('sims.lastSeen'),
      sim.last_seen_at === null ? t('sims.never') : <Time at={sim.last_seen_at} relative />,
    ],
    [t('sims.expires'), <Time at={sim.expires_at} />],
    [t('sim.hss'), `${word('sim.hss', status)} (${driver})`],
    ...linked(sim),
  ]
  return (
    <section class="card" aria-label={t('sim.facts')}>
      <h2>{t('sim.facts')}</h2>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </section>
  )
}

function linked({ batch_id: batch, replaces }: Sim): readonly (readonly [string, ComponentChildren])[] {
  return [
    batch === null
      ? []
      : [[t('sims.filter.batch_id'), <a href={`/sims?batch_id=${batch}`}>{batch}</a>] as const],
    replaces === null ? [] : [[t('sim.replaces'), <a href={pageOf(replaces)}>{replaces}</a>] as const],
  ].flat()
}
