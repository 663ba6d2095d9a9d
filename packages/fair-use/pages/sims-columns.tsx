import { Bytes, bytesText, type Column, type Sim, t } from '@steeple/console/kit'

/** What changes the figures. */
export const on = ['quota.*']

/** What SIMs have used of their quotas. */
export const columns = (): readonly Column<Sim>[] => [
  {
    key: 'used',
    title: t('sims.used'),
    isNumeric: true,
    isWide: true,
    sort: 'used',
    isDownFirst: true,
    cell: (sim) => <Used sim={sim} />,
  },
]

function Used({ sim: { allowed_bytes: allowed, usage_bytes: used } }: { readonly sim: Sim }) {
  return (
    <>
      <Bytes value={used} />
      {allowed === null ? null : ` ${t('sims.used.of', { quota: bytesText(allowed) })}`}
    </>
  )
}
