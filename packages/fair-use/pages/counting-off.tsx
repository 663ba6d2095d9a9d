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

/** Whether nothing counts what a SIM uses, and nobody has told of any. */
export function isOff(usage: { readonly known_until: string | null; readonly total_bytes: number }): boolean {
  return usage.known_until === null && usage.total_bytes === 0
}
