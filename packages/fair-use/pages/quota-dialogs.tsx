import {
  api,
  Button,
  bytesText,
  choices,
  Field,
  FormDialog,
  locale,
  may,
  Notice,
  numberOf,
  type RequestOf,
  Select,
  StaleChoice,
  StaleNotice,
  t,
  useDraft,
  useQuery,
  useState,
} from '@steeple/console/kit'
import { type Amount, AmountFields, bytesOf } from './amount.tsx'
import { CountingOff, isOff } from './counting-off.tsx'
import type { Usage } from './quota.tsx'
import { jumpOf, UNITS, unitOf } from './quota-amount.ts'

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

interface TightProps {
  readonly usage: Usage
  readonly wish: Wish
}

/** A quota as it is typed. */
export interface Wish extends Amount {
  readonly period: (typeof PERIODS)[number]
  readonly action: (typeof ACTIONS)[number]
  /** kbit/s, for action throttle. */
  readonly rate: string
}

/** Changes the quota that was read. Refused as stale: what is there now is read, and shown beside what is typed. */
async function change(
  { usage, etag, onChanged }: DialogProps,
  body: NonNullable<RequestOf<'POST', '/v1/sims/{imsi}/quota'>['body']>,
) {
  const path = { imsi: usage.imsi_sha256_12 }
  const answer = await api.post('/v1/sims/{imsi}/quota', { path, body, ifMatch: etag })
  if (!answer.ok) onChanged()
  return answer
}

/** Sets a quota, changes it, or takes it away. */
export function QuotaDialog(props: DialogProps) {
  const { usage, onClose, onChanged } = props
  const { quota_bytes: quota } = usage
  const draft = useDraft(wishOf(usage))
  const wished = bytesOf(draft.value)
  const jump = useJump(quota, wished)
  return (
    <FormDialog
      title={t(quota === null ? 'quota.set' : 'quota.change')}
      confirm={jump.isAsked ? t('quota.jump.go', { now: bytesText(wished) }) : t('quota.save')}
      isStale={draft.isStale}
      act={async () => (jump.asks() ? undefined : await change(props, bodyOf(draft.value)))}
      done={({ quota_bytes: left }) => t(left === null ? 'quota.taken' : 'quota.isSet')}
      onDone={onChanged}
      onClose={onClose}
    >
      {({ isBusy, clear, send }) => (
        <>
          {isOff(usage) ? <CountingOff why={usage.unknown_reason ?? undefined} /> : null}
          <WishFields wish={draft.value} onChange={(part) => draft.set({ ...draft.value, ...part })} />
          {jump.question}
          <Tight usage={usage} wish={draft.value} />
          <StaleNotice draft={draft} text={wishText} onChosen={clear} />
          {quota === null || draft.isStale ? null : (
            <Button
              kind="quiet"
              onClick={() => send(() => change(props, { quota_bytes: null }))}
              isDisabled={isBusy}
            >
              {t('quota.take')}
            </Button>
          )}
        </>
      )}
    </FormDialog>
  )
}

/** Says of a quota that is used up already what happens at once. */
function Tight({ usage: { total_bytes: used, period, added_bytes: added }, wish }: TightProps) {
  const isUsedUp = wish.amount !== '' && wish.period === period && bytesOf(wish) + added <= used
  if (!isUsedUp || wish.action === 'alert') return null
  return <Notice tone="warn">{t(`quota.tight.${wish.action}`, { used: bytesText(used) })}</Notice>
}

/** Asks once before an amount that is a hundred times more or less than the one before: the unit may be the wrong one. */
function useJump(before: number | null, now: number) {
  const [asked, setAsked] = useState<number>()
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

/** The fields of a quota. */
export function WishFields({
  wish: { amount, unit, period, action, rate },
  onChange,
}: {
  readonly wish: Wish
  readonly onChange: (part: Partial<Wish>) => void
}) {
  // Only who may see the settings can be told the figure.
  const settings = useQuery(may('admin') ? '/v1/settings' : undefined, {}).data?.settings
  const usual = Number(settings?.find(({ key }) => key === 'fair_use.throttle_bps')?.value) / KBIT
  return (
    <>
      <AmountFields amount={amount} unit={unit} onChange={onChange} />
      <Select
        text="quota.period"
        value={period}
        onChange={(value) => onChange({ period: known(PERIODS, value, 'month') })}
        options={choices('quota.period', PERIODS)}
      />
      <Select
        text="quota.action"
        value={action}
        onChange={(value) => onChange({ action: known(ACTIONS, value, 'suspend') })}
        options={choices('quota.action', ACTIONS)}
      />
      {action === 'throttle' ? (
        <Field
          label={t('quota.rate')}
          help={Number.isNaN(usual) ? t('quota.rate.help') : t('quota.rate.usual', { rate: usual })}
          inputMode="decimal"
          pattern="\d+([.,]\d+)?"
          value={rate}
          onInput={(text) => onChange({ rate: text })}
        />
      ) : null}
    </>
  )
}

/** Grants more for this period alone. */
export function TopUpDialog(props: DialogProps) {
  const { usage, onClose, onChanged } = props
  const [typed, setTyped] = useState<Amount>({ amount: '1', unit: unitOf(usage.quota_bytes ?? UNITS.GB) })
  const now = toppedUp(usage)
  const [seen, setSeen] = useState(now)
  const isStale = seen !== now
  const added = bytesOf(typed)
  const jump = useJump(usage.quota_bytes, (usage.quota_bytes ?? 0) + added)
  return (
    <FormDialog
      text="quota.add"
      confirm={jump.isAsked ? t('quota.jump.add', { added: bytesText(added) }) : t('quota.add')}
      isStale={isStale}
      act={async () => (jump.asks() ? undefined : await change(props, { add_bytes: added }))}
      done={saidOfTopUp}
      onDone={onChanged}
      onClose={onClose}
    >
      {({ clear }) => (
        <>
          <AmountFields {...typed} onChange={(part) => setTyped({ ...typed, ...part })} />
          {jump.question}
          {isStale ? (
            <StaleChoice
              onKeep={() => {
                setSeen(now)
                clear()
              }}
              onDrop={onClose}
            >
              <p>
                {t('stale.theirs')} <strong>{now}</strong>
              </p>
            </StaleChoice>
          ) : null}
        </>
      )}
    </FormDialog>
  )
}

/** What is left; or what is still missing. */
function saidOfTopUp(now: Usage): string {
  const left = now.remaining_bytes ?? 0
  if (left > 0) return t('quota.isAdded', { left: bytesText(left) })
  const over = now.total_bytes - (now.quota_bytes ?? 0) - now.added_bytes
  return t('quota.isAdded.over', { over: bytesText(over) })
}

function toppedUp({ quota_bytes: quota, added_bytes: added }: Usage): string {
  return quota === null ? t('stale.nothing') : `${bytesText(quota)} + ${bytesText(added)}`
}

/** A quota before anything of it is typed. */
export const EMPTY_WISH: Wish = { amount: '', unit: 'GB', period: 'month', action: 'suspend', rate: '' }

function wishOf({ quota_bytes: quota, period, action, throttle_bps: bps }: Usage): Wish {
  const unit = unitOf(quota ?? UNITS.GB)
  return {
    amount: quota === null ? '' : String(quota / UNITS[unit]),
    unit,
    period: known(PERIODS, period, 'month'),
    action: known(ACTIONS, action, 'suspend'),
    rate: bps === null ? '' : String(bps / KBIT),
  }
}

function wishText({ amount, unit, period, action, rate }: Wish): string {
  if (amount === '') return ''
  const slow = action === 'throttle' && rate !== '' ? ` ${rate} kbit/s` : ''
  return `${amount} ${unit}, ${t(`quota.period.${period}`)}. ${t(`quota.action.${action}`)}${slow}`
}

/** A quota as it is sent. */
export function bodyOf({ period, action, rate, ...wish }: Wish) {
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
