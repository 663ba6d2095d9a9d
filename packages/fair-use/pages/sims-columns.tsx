import { Bytes, bytesText, type Column, type Sim, t } from '@steeple/console/kit'

/** What changes the figures. */
export const on = ['quota.*']

/** What SIMs have used of their quotas. */
export const columns = (): readonly Column<Sim>[] => [
  { key: 'used', title: t('sims.used'), isNumeric: true, isWide: true, cell: (sim) => <Used sim={sim} /> },
]

function Used({ sim: { quota_bytes: quota, usage_bytes: used } }: { readonly sim: Sim }) {
  if (quota === null) return <>–</>
  return (
    <>
      <Bytes value={used} /> {t('sims.used.of', { quota: bytesText(quota) })}
    </>
  )
}
