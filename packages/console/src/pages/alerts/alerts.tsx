import { useQuery } from '../../api/use-query.ts'
import { filter, setFilters } from '../../app/router.ts'
import { t } from '../../text/index.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { OpenAlert } from './open-alert.tsx'
import { PastAlerts } from './past-alerts.tsx'
import { Receivers } from './receivers.tsx'

/** Alerts: what is wrong now, what was, and who is told. */
export function Page() {
  const receivers = useQuery('/v1/alerts/webhooks', {}, { on: ['alert.*', 'plugin.*'], everyMs: 15_000 })
  return (
    <>
      <h1>{t('alerts.title')}</h1>
      {receivers.data?.enabled === false ? (
        <Notice tone="warn">
          <p>{t('alerts.off')}</p>
          <p>
            <a href="/docs/how-to/alerts.html">{t('alerts.docs')}</a>
          </p>
        </Notice>
      ) : null}
      <Tabs
        label={t('alerts.title')}
        chosen={filter('tab')}
        onChoose={(tab) => setFilters({ tab })}
        tabs={[
          { key: 'open', title: t('alerts.open'), content: () => <OpenAlerts /> },
          { key: 'past', title: t('alerts.past'), content: () => <PastAlerts /> },
          { key: 'receivers', title: t('alerts.receivers'), content: () => <Receivers query={receivers} /> },
        ]}
      />
    </>
  )
}

const GRAVITY = ['critical', 'warning', 'info']

function OpenAlerts() {
  const query = { state: 'open', limit: 500 } as const
  const alerts = useQuery('/v1/alerts', { query }, { on: ['alert.*'], everyMs: 30_000 })
  return (
    <Loaded query={alerts}>
      {({ alerts: open }) =>
        open.length === 0 ? (
          <EmptyState title={t('alerts.none')}>{t('alerts.none.help')}</EmptyState>
        ) : (
          open
            .toSorted((a, b) => GRAVITY.indexOf(a.severity) - GRAVITY.indexOf(b.severity))
            .map((alert) => <OpenAlert key={alert.id} alert={alert} onChanged={alerts.reload} />)
        )
      }
    </Loaded>
  )
}
