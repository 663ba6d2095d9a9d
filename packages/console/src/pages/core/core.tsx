import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { HealthList } from '../../ui/health-list.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Lifecycle } from './lifecycle.tsx'
import { Plan } from './plan.tsx'
import { Restarts } from './restarts.tsx'
import './core.css'

const LOOK_MS = 30_000
/** Kinds of components that make the core. */
const KINDS = ['core', 'hss', 'collector'] as const

/** The core, its daemons and databases, what a change would do, and the life of the node. */
export function Page() {
  const status = useQuery(
    '/v1/status',
    {},
    {
      on: [
        'health.*',
        'ran.*',
        'session.*',
        'sim.attached',
        'sim.detached',
        'sim.many',
        'core.*',
        'config.*',
        'node.*',
        'lifecycle.*',
      ],
      everyMs: LOOK_MS,
    },
  )
  const { data, error } = status
  return (
    <>
      <h1>{t('core.title')}</h1>
      {error === undefined ? null : <ErrorNotice error={error} onRetry={status.reload} />}
      {data === undefined ? null : (
        <>
          <section class="card" aria-labelledby="core-facts">
            <h2 id="core-facts">{t('core.facts')}</h2>
            <dl class="facts">
              <dt>{t('core.which')}</dt>
              <dd>{data.core}</dd>
              <dt>{t('core.plmn')}</dt>
              <dd>{data.plmn}</dd>
              <dt>{t('core.tac')}</dt>
              <dd>{data.tac}</dd>
              <dt>{t('core.apns')}</dt>
              <dd>{data.apns.join(', ')}</dd>
              <dt>{t('core.radio')}</dt>
              <dd>{t(`core.radio.${!data.enb.known ? 'unknown' : data.enb.connected ? 'yes' : 'no'}`)}</dd>
              <dt>{t('core.attached')}</dt>
              <dd>{data.ue.attached ?? t('core.untold')}</dd>
            </dl>
          </section>
          <div class="cards">
            {KINDS.map((kind) => (
              <section key={kind} class="card" aria-labelledby={`core-${kind}`}>
                <h2 id={`core-${kind}`}>{t(`core.kind.${kind}`)}</h2>
                <Parts components={data.components.filter((one) => one.kind === kind)} />
              </section>
            ))}
          </div>
          {may('operator') && has('core-config') ? <Plan isLab={data.mode === 'lab'} /> : null}
          {may('operator') ? <Restarts /> : null}
          <Lifecycle nodeId={data.node_id} isArmed={data.tx.armed} />
        </>
      )}
    </>
  )
}

function Parts({ components }: Parameters<typeof HealthList>[0]) {
  return components.length === 0 ? (
    <EmptyState title={t('core.kind.none')} />
  ) : (
    <HealthList components={components} />
  )
}
