import { t } from '../../text/index.ts'
import { Bytes, bytesText } from '../../ui/bytes.tsx'
import type { Column } from '../../ui/data-table.tsx'
import { Time } from '../../ui/time.tsx'
import { Attached, nameOf, pageOf, type Sim, SimState } from './sim.tsx'

const NAME: Column<Sim> = {
  key: 'name',
  title: '',
  cell: (sim) => <a href={pageOf(sim.imsi_sha256_12)}>{nameOf(sim)}</a>,
}

/** The columns of the list; what was used of quotas where the box counts it. */
export function columns(hasQuotas: boolean): readonly Column<Sim>[] {
  const used: Column<Sim> = {
    key: 'used',
    title: t('sims.used'),
    isNumeric: true,
    isWide: true,
    cell: (sim) => <Used sim={sim} />,
  }
  return [
    { ...NAME, title: t('sims.name') },
    { key: 'state', title: t('sims.filter.state'), isTight: true, cell: (sim) => <SimState sim={sim} /> },
    {
      key: 'attached',
      title: t('sims.filter.attached'),
      isTight: true,
      cell: (sim) => <Attached attached={sim.attached} />,
    },
    {
      key: 'seen',
      title: t('sims.lastSeen'),
      isWide: true,
      cell: ({ last_seen_at: at }) => (at === null ? t('sims.never') : <Time at={at} relative />),
    },
    ...(hasQuotas ? [used] : []),
    {
      key: 'iccid',
      title: t('sims.iccid'),
      isWide: true,
      isTight: true,
      cell: ({ iccid_last4: end }) => (end === null ? '' : `…${end}`),
    },
    {
      key: 'hash',
      title: t('sims.hash'),
      isWide: true,
      isTight: true,
      cell: (sim) => <code>{sim.imsi_sha256_12}</code>,
    },
    {
      key: 'expires',
      title: t('sims.expires'),
      isWide: true,
      isTight: true,
      cell: (sim) => <Time at={sim.expires_at} dateOnly />,
    },
  ]
}

function Used({ sim: { quota_bytes: quota, usage_bytes: used } }: { readonly sim: Sim }) {
  if (quota === null) return <>–</>
  return (
    <>
      <Bytes value={used} /> {t('sims.used.of', { quota: bytesText(quota) })}
    </>
  )
}
