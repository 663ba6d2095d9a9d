import { useQuery } from '../../api/use-query.ts'
import { Panels } from '../../app/plugin-pages.tsx'
import { locale, t } from '../../text/index.ts'
import { Checkbox, Field, type FieldProps, Select } from '../../ui/field.tsx'
import type { Order } from './order-body.ts'

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
