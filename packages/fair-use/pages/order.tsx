import { Field, numberOf, t, useState } from '@steeple/console/kit'

const GIGA = 1_000_000_000

/** The quota of SIMs that are ordered. */
export function Panel({ onMore }: { readonly onMore: (more: { readonly quota_bytes?: number }) => void }) {
  const [typed, setTyped] = useState('')
  const set = (text: string): void => {
    setTyped(text)
    onMore(text === '' ? {} : { quota_bytes: Math.round(numberOf(text) * GIGA) })
  }
  return (
    <Field
      label={t('order.quota')}
      help={t('order.quota.help')}
      inputMode="decimal"
      pattern="\d+([.,]\d+)?"
      value={typed}
      onInput={set}
    />
  )
}
