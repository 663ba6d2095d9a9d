import { useQuery } from '../../api/use-query.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { locale, t } from '../../text/index.ts'
import { Checkbox, Field, type FieldProps, Select } from '../../ui/field.tsx'

/** What the service issues at once. */
export const MOST_SIMS = 1_000

const LIVES = ['30d', '90d', '1y', '5y'] as const

/** The fields of an order. */
export function OrderFields({
  order,
  onChange,
}: {
  readonly order: Order
  readonly onChange: (order: Order) => void
}) {
  const set = (name: Exclude<keyof Order, 'apns' | 'more'>) => (value: string) =>
    onChange({ ...order, [name]: value })
  return (
    <>
      <div class="pair">
        <Field
          name="count"
          text="order.count"
          type="number"
          min={1}
          max={MOST_SIMS}
          isRequired
          error={
            Number(order.count) > MOST_SIMS
              ? t('parts.wrong.high', { most: MOST_SIMS.toLocaleString(locale()) })
              : undefined
          }
          value={order.count}
          onInput={set('count')}
        />
        <Field
          name="label"
          label={t('sims.label')}
          help={t('order.label.help')}
          maxLength={64}
          value={order.label}
          onInput={set('label')}
        />
      </div>
      <Life order={order} onChange={onChange} />
      <ApnChoice
        legend={t('order.apns')}
        chosen={order.apns}
        onChange={(apns) => onChange({ ...order, apns })}
      />
      <details>
        <summary>{t('order.more')}</summary>
        <div class="stack">
          <Field
            name="profile"
            label={t('sims.filter.profile')}
            help={t('order.profile.help')}
            maxLength={64}
            value={order.profile}
            onInput={set('profile')}
          />
          <div class="pair">
            <Speed label={t('order.down')} value={order.down} onInput={set('down')} />
            <Speed label={t('order.up')} value={order.up} onInput={set('up')} />
          </div>
          <Panels
            on="sims.order"
            onMore={(more: Order['more']) => onChange({ ...order, more: { ...order.more, ...more } })}
          />
          <Field
            name="msisdn"
            text="order.msisdn"
            inputMode="numeric"
            pattern="\+?[0-9 ]{3,20}"
            isDisabled={order.count !== '1'}
            value={order.msisdn}
            onInput={set('msisdn')}
          />
        </div>
      </details>
    </>
  )
}

/** A speed in Mbit/s. */
export function Speed(props: Pick<FieldProps, 'label' | 'value' | 'onInput' | 'isRequired'>) {
  return <Field {...props} inputMode="decimal" pattern="\d+([.,]\d+)?" />
}

function Life({ order, onChange }: { readonly order: Order; readonly onChange: (order: Order) => void }) {
  return (
    <div class="pair">
      <Select
        text="order.life"
        value={order.life}
        onChange={(life) => onChange({ ...order, life })}
        options={[
          { value: '', label: t('order.life.default') },
          ...LIVES.map((value) => ({ value, label: t(`order.life.${value}`) })),
          { value: 'date', label: t('order.life.date') },
        ]}
      />
      {order.life === 'date' ? (
        <Field
          text="order.date"
          type="date"
          isRequired
          value={order.date}
          onInput={(date) => onChange({ ...order, date })}
        />
      ) : null}
    </div>
  )
}

/** Which APNs of the network; nothing where there is no choice. `also`: those that are offered besides. */
export function ApnChoice({
  legend,
  also = [],
  chosen,
  onChange,
}: {
  readonly legend: string
  readonly also?: readonly string[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}) {
  const apns = [...new Set([...(useQuery('/v1/policy').data?.apns ?? []), ...also])]
  if (apns.length < 2) return null
  return (
    <fieldset>
      <legend>{legend}</legend>
      {apns.map((apn) => (
        <Checkbox
          key={apn}
          label={apn}
          isChecked={chosen.includes(apn)}
          onChange={(isIn) => onChange(isIn ? [...chosen, apn] : chosen.filter((one) => one !== apn))}
        />
      ))}
    </fieldset>
  )
}

/** What SIMs are ordered. All as it is typed. */
export interface Order {
  readonly count: string
  readonly label: string
  readonly profile: string
  /** Empty: all of the policy. */
  readonly apns: readonly string[]
  /** A length of time; `date`: until `date`. */
  readonly life: string
  readonly date: string
  /** Mbit/s, as typed. */
  readonly down: string
  readonly up: string
  readonly msisdn: string
  /** What plugins add, as the service takes it; undefined: what was said before is taken back. */
  readonly more: Readonly<Record<string, unknown>>
}

/** Nothing said: the service's own defaults. */
export const EMPTY_ORDER: Order = {
  count: '1',
  label: '',
  profile: '',
  apns: [],
  life: '',
  date: '',
  down: '',
  up: '',
  msisdn: '',
  more: {},
}

/** The same as routes that issue take it, `POST /v1/sims` for one. */
interface OrderBody {
  readonly count?: number
  readonly label?: string
  readonly profile?: string
  readonly apns?: readonly string[]
  readonly expires_in?: string
  readonly expires_at?: string
  readonly ambr?: { readonly downlink_bps: number; readonly uplink_bps: number }
  readonly msisdn?: string
}

const MEGA = 1_000_000
/** Of the other direction when only one is said; what the service itself gives. */
const DEFAULT_BPS = 1_000_000_000

/** The order as the service takes it. */
export function orderBody(order: Order): OrderBody {
  const { count, label, profile, apns, life, date, msisdn } = order
  return {
    count: Number(count),
    ...(label.trim() === '' ? {} : { label: label.trim() }),
    ...(profile.trim() === '' ? {} : { profile: profile.trim() }),
    ...(apns.length === 0 ? {} : { apns }),
    ...(life === '' ? {} : life === 'date' ? { expires_at: endOf(date) } : { expires_in: life }),
    ...(order.down === '' && order.up === '' ? {} : { ambr: ambrOf(order) }),
    // Of several none can have it: its field is closed then, whatever was typed into it before.
    ...(msisdn.trim() === '' || count !== '1' ? {} : { msisdn: msisdn.replaceAll(/\D/g, '') }),
    ...order.more,
  }
}

function ambrOf({ down, up }: Order): { downlink_bps: number; uplink_bps: number } {
  const bps = (typed: string): number => (typed === '' ? DEFAULT_BPS : Math.round(numberOf(typed) * MEGA))
  return { downlink_bps: bps(down), uplink_bps: bps(up) }
}

/** A number as people type it, with a comma or a point. */
export function numberOf(typed: string): number {
  return Number(typed.replace(',', '.'))
}

/** The end of a day in the reader's zone. */
function endOf(date: string): string {
  return new Date(`${date}T23:59:59`).toISOString()
}
