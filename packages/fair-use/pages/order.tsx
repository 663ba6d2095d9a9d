import { useState } from '@steeple/console/kit'
import { type Amount, AmountFields, bytesOf } from './amount.tsx'
import { UNITS, unitOf } from './quota-amount.ts'

/** The quota of SIMs that are ordered. */
export function Panel({
  onMore,
}: {
  readonly onMore: (more: { readonly quota_bytes: number | undefined }) => void
}) {
  const [typed, setTyped] = useState<Amount>({ amount: '', unit: unitOf(UNITS.GB) })
  const set = (part: Partial<Amount>): void => {
    const next = { ...typed, ...part }
    setTyped(next)
    onMore({ quota_bytes: next.amount === '' ? undefined : bytesOf(next) })
  }
  return <AmountFields {...typed} text="order.quota" isFree onChange={set} />
}
