import { useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { Facts } from '../../ui/facts.tsx'
import { type Component, healthTone } from '../../ui/health-list.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Said } from '../../ui/said.tsx'
import { Time } from '../../ui/time.tsx'

/** Every part: what is not well first, with why and what to do; then all of them to compare. */
export function Health() {
  const health = useQuery(
    '/v1/health',
    {},
    { on: ['health.*', 'ran.*', 'plugin.*', 'core.*', 'clock.*'], everyMs: 30_000 },
  )
  return (
    <section class="card" aria-label={t('system.health')}>
      <h2>{t('system.health')}</h2>
      <Loaded query={health}>
        {({ status, components }) => (
          <>
            <p>
              <Lamp tone={healthTone(status)} label={word('system.status', status)} />
            </p>
            {components
              .filter((one) => one.status !== 'ok')
              .map((one) => (
                <Trouble key={one.name} component={one} />
              ))}
            <DataTable
              label={t('system.health')}
              rows={components}
              columns={columns()}
              keyOf={({ name }) => name}
            />
          </>
        )}
      </Loaded>
    </section>
  )
}

function Trouble({ component }: { readonly component: Component }) {
  const { name, kind, status, detail, since, last_ok_at } = component
  const remedy = word('system.do', kind)
  return (
    <article class={`notice ${healthTone(status)}`} aria-label={name}>
      <h3>
        <Lamp tone={healthTone(status)} label={`${name}: ${word('system.status', status)}`} />
      </h3>
      <p>
        <Said>{detail}</Said>
      </p>
      {remedy === kind ? null : <p>{remedy}</p>}
      <Facts
        facts={[
          [t('system.since'), <Time key="since" at={since} relative />],
          [t('system.lastOk'), last_ok_at === null ? t('system.never') : <Time at={last_ok_at} relative />],
        ]}
      />
    </article>
  )
}

function columns(): readonly Column<Component>[] {
  return [
    {
      key: 'name',
      title: t('system.part'),
      cell: ({ name }) => <span translate={false}>{name}</span>,
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    {
      key: 'status',
      title: t('system.state'),
      cell: ({ status }) => <Lamp tone={healthTone(status)} label={word('system.status', status)} />,
      compare: (a, b) => a.status.localeCompare(b.status),
    },
    { key: 'kind', title: t('system.kind'), cell: ({ kind }) => word('system.kind', kind), isWide: true },
    {
      key: 'since',
      title: t('system.since'),
      isTight: true,
      cell: ({ since }) => <Time at={since} relative />,
    },
    { key: 'detail', title: t('system.detail'), cell: ({ detail }) => <Said>{detail}</Said>, isWide: true },
  ]
}
