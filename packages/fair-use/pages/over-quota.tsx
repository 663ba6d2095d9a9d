import { locale, type Sim, t } from '@steeple/console/kit'

/** How many of those who are suspended have used up their quota. */
export function Panel({ suspended }: { readonly suspended: readonly Sim[] }) {
  const count = suspended.filter(({ suspend_reason: reason }) => reason === 'quota').length
  return (
    <div>
      <dt>{t('home.overQuota')}</dt>
      <dd>{count.toLocaleString(locale())}</dd>
    </div>
  )
}
