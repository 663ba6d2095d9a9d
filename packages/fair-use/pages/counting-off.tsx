import { ifPage, Notice, Said, t } from '@steeple/console/kit'

/** That nothing counts bytes here, why, and where to turn it on. */
export function CountingOff({ why }: { readonly why?: string | undefined }) {
  const settings = ifPage('/settings')
  return (
    <Notice tone="warn">
      <p>
        {t('usage.off')} {why === undefined ? null : <Said>{why}</Said>}
      </p>
      {settings === undefined ? null : <a href={`${settings}?q=collector`}>{t('usage.turnOn')}</a>}
    </Notice>
  )
}
