import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { bytesText } from '../../ui/bytes.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'
import { numberOf } from '../sims/order.tsx'
import type { Usage } from './quota.tsx'

const UNITS = { MB: 1_000_000, GB: 1_000_000_000 } as const
const PERIODS = ['day', 'week', 'month', 'none'] as const
const ACTIONS = ['suspend', 'throttle', 'alert'] as const
const KBIT = 1_000

type Unit = keyof typeof UNITS

interface DialogProps {
  readonly usage: Usage
  readonly onClose: () => void
  readonly onChanged: () => void
}

/** Sets a quota, changes it, or takes it away. */
export function QuotaDialog({ usage, onClose, onChanged }: DialogProps) {
  const { quota_bytes: quota } = usage
  const [amount, setAmount] = useState(amountOf(quota))
  const [unit, setUnit] = useState<Unit>('GB')
  const [period, setPeriod] = useState(known(PERIODS, usage.period, 'month'))
  const [action, setAction] = useState(known(ACTIONS, usage.action, 'suspend'))
  const [rate, setRate] = useState('')
  const change = useAction((isAway: boolean) =>
    api.post('/v1/sims/{imsi}/quota', {
      path: { imsi: usage.imsi_sha256_12 },
      body: isAway
        ? { quota_bytes: null }
        : {
            quota_bytes: Math.round(numberOf(amount) * UNITS[unit]),
            period,
            action,
            ...(action === 'throttle' && rate !== ''
              ? { throttle_bps: Math.round(numberOf(rate) * KBIT) }
              : {}),
          },
    }),
  )
  const done = async (isAway: boolean): Promise<void> => {
    const answer = await change.run(isAway)
    if (answer?.ok !== true) return
    toast({ text: t(isAway ? 'quota.taken' : 'quota.isSet') })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t(quota === null ? 'quota.set' : 'quota.change')}
      confirm={t('quota.save')}
      isBusy={change.isBusy}
      error={change.error}
      onConfirm={() => void done(false)}
      onClose={onClose}
    >
      <div class="stack">
        <Amount amount={amount} unit={unit} onAmount={setAmount} onUnit={setUnit} />
        <Select
          label={t('quota.period')}
          value={period}
          onChange={(value) => setPeriod(known(PERIODS, value, 'month'))}
          options={PERIODS.map((value) => ({ value, label: t(`quota.period.${value}`) }))}
        />
        <Select
          label={t('quota.action')}
          value={action}
          onChange={(value) => setAction(known(ACTIONS, value, 'suspend'))}
          options={ACTIONS.map((value) => ({ value, label: t(`quota.action.${value}`) }))}
        />
        {action === 'throttle' ? (
          <Field
            label={t('quota.rate')}
            help={t('quota.rate.help')}
            inputMode="numeric"
            pattern="\d+"
            value={rate}
            onInput={setRate}
          />
        ) : null}
        {quota === null ? null : (
          <Button kind="quiet" onClick={() => void done(true)} isDisabled={change.isBusy}>
            {t('quota.take')}
          </Button>
        )}
      </div>
    </ConfirmDialog>
  )
}

/** Grants more for this period alone. */
export function TopUpDialog({ usage, onClose, onChanged }: DialogProps) {
  const [amount, setAmount] = useState('1')
  const [unit, setUnit] = useState<Unit>('GB')
  const add = useAction(() =>
    api.post('/v1/sims/{imsi}/quota', {
      path: { imsi: usage.imsi_sha256_12 },
      body: { add_bytes: Math.round(numberOf(amount) * UNITS[unit]) },
    }),
  )
  const confirm = async (): Promise<void> => {
    const answer = await add.run()
    if (answer?.ok !== true) return
    toast({ text: t('quota.isAdded', { left: bytesText(answer.data.remaining_bytes ?? 0) }) })
    onChanged()
    onClose()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('quota.add')}
      confirm={t('quota.add')}
      isBusy={add.isBusy}
      error={add.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{t('quota.add.what')}</p>
      <Amount amount={amount} unit={unit} onAmount={setAmount} onUnit={setUnit} />
    </ConfirmDialog>
  )
}

function Amount({
  amount,
  unit,
  onAmount,
  onUnit,
}: {
  readonly amount: string
  readonly unit: Unit
  readonly onAmount: (amount: string) => void
  readonly onUnit: (unit: Unit) => void
}) {
  return (
    <div class="pair">
      <Field
        label={t('quota.amount')}
        inputMode="decimal"
        pattern="\d+([.,]\d+)?"
        isRequired
        isFocused
        value={amount}
        onInput={onAmount}
      />
      <Select
        label={t('quota.unit')}
        value={unit}
        onChange={(value) => onUnit(value === 'MB' ? 'MB' : 'GB')}
        options={Object.keys(UNITS).map((value) => ({ value, label: value }))}
      />
    </div>
  )
}

function amountOf(quota: number | null): string {
  return quota === null ? '' : String(quota / UNITS.GB)
}

function known<Value extends string>(values: readonly Value[], given: string | null, other: Value): Value {
  return values.find((value) => value === given) ?? other
}
