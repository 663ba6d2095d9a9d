import {
  api,
  Button,
  bytesText,
  ConfirmDialog,
  Field,
  locale,
  Notice,
  numberOf,
  Select,
  StaleChoice,
  StaleNotice,
  t,
  toast,
  useAction,
  useDraft,
  useState,
} from '@steeple/console/kit'
import { AmountFields, bytesOf } from './amount.tsx'
import type { Usage } from './quota.tsx'
import { jumpOf, UNITS, type Unit, unitOf } from './quota-amount.ts'

const PERIODS = ['day', 'week', 'month', 'none'] as const
const ACTIONS = ['suspend', 'throttle', 'alert'] as const
const KBIT = 1_000

interface DialogProps {
  readonly usage: Usage
  /** The tag that it was read with. */
  readonly etag: string | undefined
  readonly onClose: () => void
  readonly onChanged: () => void
}

/** A quota as it is typed. */
interface Wish {
  readonly amount: string
  readonly unit: Unit
  readonly period: (typeof PERIODS)[number]
  readonly action: (typeof ACTIONS)[number]
  /** kbit/s, for action throttle. */
  readonly rate: string
}

/** Sets a quota, changes it, or takes it away. */
export function QuotaDialog({ usage, etag, onClose, onChanged }: DialogProps) {
  const { quota_bytes: quota } = usage
  const draft = useDraft(wishOf(usage))
  const change = useAction((isAway: boolean) =>
    api.post('/v1/sims/{imsi}/quota', {
      path: { imsi: usage.imsi_sha256_12 },
      body: isAway ? { quota_bytes: null } : bodyOf(draft.value),
      ifMatch: etag,
    }),
  )
  const done = async (isAway: boolean): Promise<void> => {
    const answer = await change.run(isAway)
    // Refused as stale: what is there now is read, and shown beside what is typed.
    if (answer?.ok === false) onChanged()
    if (answer?.ok !== true) return
    toast({ text: t(isAway ? 'quota.taken' : 'quota.isSet') })
    onChanged()
    onClose()
  }
  const wished = bytesOf(draft.value)
  const jump = useJump(quota, wished)
  return (
    <ConfirmDialog
      isOpen
      title={t(quota === null ? 'quota.set' : 'quota.change')}
      confirm={jump.isAsked ? t('quota.jump.go', { now: bytesText(wished) }) : t('quota.save')}
      isBusy={change.isBusy}
      isDisabled={draft.isStale}
      error={draft.isStale ? undefined : change.error}
      onConfirm={() => {
        if (!jump.asks()) void done(false)
      }}
      onClose={onClose}
    >
      <div class="stack">
        <WishFields wish={draft.value} onChange={(part) => draft.set({ ...draft.value, ...part })} />
        {jump.question}
        <StaleNotice draft={draft} text={wishText} onChosen={change.clear} />
        {quota === null || draft.isStale ? null : (
          <Button kind="quiet" onClick={() => void done(true)} isDisabled={change.isBusy}>
            {t('quota.take')}
          </Button>
        )}
      </div>
    </ConfirmDialog>
  )
}

/** Asks once before an amount that is a hundred times more or less than the one before: the unit may be the wrong one. */
function useJump(before: number | null, now: number) {
  const [asked, setAsked] = useState<number | undefined>(undefined)
  const jump = jumpOf(before, now)
  const isAsked = jump !== undefined && asked === now
  const values = { now: bytesText(now), before: bytesText(before ?? 0) }
  return {
    isAsked,
    /** Whether it asks now, so that nothing is to be done yet. */
    asks: (): boolean => {
      if (jump !== undefined) setAsked(now)
      return jump !== undefined && !isAsked
    },
    question: isAsked ? (
      <Notice tone="warn">
        {t(`quota.jump.${jump.way}`, { ...values, times: jump.times.toLocaleString(locale()) })}
      </Notice>
    ) : null,
  }
}

function WishFields({
  wish: { amount, unit, period, action, rate },
  onChange,
}: {
  readonly wish: Wish
  readonly onChange: (part: Partial<Wish>) => void
}) {
  return (
    <>
      <AmountFields
        amount={amount}
        unit={unit}
        onAmount={(text) => onChange({ amount: text })}
        onUnit={(value) => onChange({ unit: value })}
      />
      <Select
        label={t('quota.period')}
        value={period}
        onChange={(value) => onChange({ period: known(PERIODS, value, 'month') })}
        options={PERIODS.map((value) => ({ value, label: t(`quota.period.${value}`) }))}
      />
      <Select
        label={t('quota.action')}
        value={action}
        onChange={(value) => onChange({ action: known(ACTIONS, value, 'suspend') })}
        options={ACTIONS.map((value) => ({ value, label: t(`quota.action.${value}`) }))}
      />
      {action === 'throttle' ? (
        <Field
          label={t('quota.rate')}
          help={t('quota.rate.help')}
          inputMode="numeric"
          pattern="\d+"
          value={rate}
          onInput={(text) => onChange({ rate: text })}
        />
      ) : null}
    </>
  )
}

/** Grants more for this period alone. */
export function TopUpDialog({ usage, etag, onClose, onChanged }: DialogProps) {
  const [amount, setAmount] = useState('1')
  const [unit, setUnit] = useState<Unit>(unitOf(usage.quota_bytes ?? UNITS.GB))
  const now = toppedUp(usage)
  const [seen, setSeen] = useState(now)
  const isStale = seen !== now
  const added = bytesOf({ amount, unit })
  const jump = useJump(usage.quota_bytes, (usage.quota_bytes ?? 0) + added)
  const add = useAction(() =>
    api.post('/v1/sims/{imsi}/quota', {
      path: { imsi: usage.imsi_sha256_12 },
      body: { add_bytes: added },
      ifMatch: etag,
    }),
  )
  const confirm = async (): Promise<void> => {
    const answer = await add.run()
    if (answer?.ok === false) onChanged()
    if (answer?.ok !== true) return
    toast({ text: t('quota.isAdded', { left: bytesText(answer.data.remaining_bytes ?? 0) }) })
    onChanged()
    onClose()
  }
  const keep = (): void => {
    setSeen(now)
    add.clear()
  }
  return (
    <ConfirmDialog
      isOpen
      title={t('quota.add')}
      confirm={jump.isAsked ? t('quota.jump.add', { added: bytesText(added) }) : t('quota.add')}
      isBusy={add.isBusy}
      isDisabled={isStale}
      error={isStale ? undefined : add.error}
      onConfirm={() => {
        if (!jump.asks()) void confirm()
      }}
      onClose={onClose}
    >
      <p>{t('quota.add.what')}</p>
      <AmountFields amount={amount} unit={unit} onAmount={setAmount} onUnit={setUnit} />
      {jump.question}
      {isStale ? (
        <StaleChoice onKeep={keep} onDrop={onClose}>
          <p>
            {t('stale.theirs')} <strong>{now}</strong>
          </p>
        </StaleChoice>
      ) : null}
    </ConfirmDialog>
  )
}

function toppedUp({ quota_bytes: quota, added_bytes: added }: Usage): string {
  return quota === null ? t('stale.nothing') : `${bytesText(quota)} + ${bytesText(added)}`
}

function wishOf({ quota_bytes: quota, period, action }: Usage): Wish {
  const unit = unitOf(quota ?? UNITS.GB)
  return {
    amount: quota === null ? '' : String(quota / UNITS[unit]),
    unit,
    period: known(PERIODS, period, 'month'),
    action: known(ACTIONS, action, 'suspend'),
    rate: '',
  }
}

function wishText({ amount, unit, period, action }: Wish): string {
  if (amount === '') return ''
  return `${amount} ${unit}, ${t(`quota.period.${period}`)}. ${t(`quota.action.${action}`)}`
}

function bodyOf({ period, action, rate, ...wish }: Wish) {
  return {
    quota_bytes: bytesOf(wish),
    period,
    action,
    ...(action === 'throttle' && rate !== '' ? { throttle_bps: Math.round(numberOf(rate) * KBIT) } : {}),
  }
}

function known<Value extends string>(values: readonly Value[], given: string | null, other: Value): Value {
  return values.find((value) => value === given) ?? other
}
