import { usePages } from '../../api/use-pages.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Select } from '../../ui/field.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Time } from '../../ui/time.tsx'
import { type Alert, ruleText, subjectText, toneOf } from './alert-words.ts'

const SEVERITIES = ['critical', 'warning', 'info'] as const

/** Alerts that are over, newest first. */
export function PastAlerts() {
  const wanted = filter('severity')
  const severity = SEVERITIES.find((one) => one === wanted)
  const alerts = usePages('/v1/alerts', { state: 'resolved', severity }, ['alert.*'])
  return (
    <>
      <div class="toolbar">
        <Select
          label={t('alerts.severity')}
          value={severity ?? ''}
          onChange={(value) => setFilters({ severity: value })}
          options={[
            { value: '', label: t('alerts.severity.all') },
            ...SEVERITIES.map((value) => ({ value, label: t(`alerts.severity.${value}`) })),
          ]}
        />
      </div>
      <Loaded query={alerts}>
        {(rows) => (
          <DataTable
            label={t('alerts.past')}
            rows={rows}
            columns={columns()}
            keyOf={({ id }) => id}
            empty={<EmptyState title={t('alerts.past.none')}>{t('alerts.past.none.help')}</EmptyState>}
            footer={alerts.more === undefined ? null : <Button onClick={alerts.more}>{t('ui.more')}</Button>}
          />
        )}
      </Loaded>
    </>
  )
}

function columns(): readonly Column<Alert>[] {
  return [
    {
      key: 'severity',
      title: t('alerts.severity'),
      cell: ({ severity }) => <Lamp tone={toneOf(severity)} label={word('alerts.severity', severity)} />,
    },
    { key: 'rule', title: t('alerts.what'), cell: ({ rule }) => ruleText(rule) },
    { key: 'subject', title: t('alerts.subject'), cell: subjectText },
    { key: 'from', title: t('alerts.since'), cell: (alert) => <Time at={alert.started_at} /> },
    {
      key: 'to',
      title: t('alerts.over'),
      cell: (alert) => (alert.resolved_at === null ? '' : <Time at={alert.resolved_at} />),
      isWide: true,
    },
    { key: 'by', title: t('alerts.ackedBy'), cell: (alert) => alert.acked_by ?? '', isWide: true },
  ]
}
