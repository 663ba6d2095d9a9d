import { useEffect, useState } from 'preact/hooks'
import { filter, setFilters } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { actionText, knownActions } from './actions.ts'

const NAMES = ['action', 'principal', 'target', 'from', 'to'] as const
type Filters = Readonly<Record<(typeof NAMES)[number], string>>

/** What of the trail is shown. It is in the address, so that it can be sent to somebody. */
export function AuditFilters() {
  const applied = Object.fromEntries(NAMES.map((name) => [name, filter(name)])) as Filters
  const key = JSON.stringify(applied)
  const [wanted, setWanted] = useState(applied)
  useEffect(() => setWanted(applied), [key])
  const set = (name: keyof Filters) => (value: string) => setWanted({ ...wanted, [name]: value })
  const actions = knownActions()
  const isOther = applied.action !== '' && !actions.some(({ value }) => value === applied.action)
  return (
    <form
      class="toolbar"
      onSubmit={(event) => {
        event.preventDefault()
        setFilters(wanted)
      }}
    >
      <Select
        label={t('audit.what')}
        value={wanted.action}
        onChange={(action) => setFilters({ ...wanted, action })}
        options={[
          { value: '', label: t('audit.all') },
          ...(isOther ? [{ value: applied.action, label: actionText(applied.action) }] : []),
          ...actions,
        ]}
      />
      <details open={NAMES.some((name) => name !== 'action' && applied[name] !== '')}>
        <summary>{t('audit.more')}</summary>
        <div class="toolbar">
          <Field label={t('audit.whoId')} value={wanted.principal} onInput={set('principal')} />
          <Field label={t('audit.target')} value={wanted.target} onInput={set('target')} />
          <Field label={t('audit.from')} type="datetime-local" value={wanted.from} onInput={set('from')} />
          <Field label={t('audit.to')} type="datetime-local" value={wanted.to} onInput={set('to')} />
          <Button type="submit">{t('audit.filter')}</Button>
        </div>
      </details>
      {NAMES.some((name) => applied[name] !== '') ? (
        <Button
          kind="quiet"
          onClick={() => setFilters({ action: '', principal: '', target: '', from: '', to: '' })}
        >
          {t('audit.clear')}
        </Button>
      ) : null}
    </form>
  )
}
