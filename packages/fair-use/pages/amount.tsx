import { Field, numberOf, Select } from '@steeple/console/kit'
import { UNITS, type Unit } from './quota-amount.ts'

/** An amount of data as it is typed. */
export interface Amount {
  readonly amount: string
  readonly unit: Unit
}

/** Octets; NaN while it is no number. */
export function bytesOf({ amount, unit }: Amount): number {
  return Math.round(numberOf(amount) * UNITS[unit])
}

export function AmountFields({
  amount,
  unit,
  onChange,
  text = 'quota.amount',
  isFree = false,
}: Amount & {
  readonly onChange: (part: Partial<Amount>) => void
  readonly text?: string
  /** It may be left out, among other fields. */
  readonly isFree?: boolean
}) {
  return (
    <div class="pair">
      <Field
        text={text}
        inputMode="decimal"
        pattern="\d+([.,]\d+)?"
        isRequired={!isFree}
        isFocused={!isFree}
        value={amount}
        onInput={(text) => onChange({ amount: text })}
      />
      <Select
        text="quota.unit"
        value={unit}
        onChange={(value) => onChange({ unit: value === 'MB' ? 'MB' : 'GB' })}
        options={Object.keys(UNITS).map((value) => ({ value, label: value }))}
      />
    </div>
  )
}
