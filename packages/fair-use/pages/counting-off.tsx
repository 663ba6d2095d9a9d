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

interface Counted {
  readonly known_until: string | null
  readonly unknown_reason: string | null
  readonly total_bytes: number
}

/** Whether nothing counts what a SIM uses, and nobody has told of any. */
export function isOff(usage: Counted): boolean {
  return isBeforeFirst(usage) && usage.unknown_reason !== null
}

/** Whether no byte was counted yet, of any SIM. */
export function isBeforeFirst({ known_until: until, total_bytes: total }: Counted): boolean {
  return until === null && total === 0
}
