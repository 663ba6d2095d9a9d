import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { ConfirmClock } from '../../app/confirm-clock.tsx'
import { IncidentList, useBoard, wellText } from '../../app/incidents.tsx'
import { Panels } from '../../app/plugin-pages.tsx'
import { componentText, t, word } from '../../text/index.ts'
import { Copy } from '../../ui/copy.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { type Component, healthTone } from '../../ui/health-list.tsx'
import { Loaded, Notice } from '../../ui/notice.tsx'
import { Card, Facts, Lamp, Said } from '../../ui/parts.tsx'
import { durationText, Time } from '../../ui/time.tsx'

/** Whether the clock of the machine is believed; who knows the time says so. */
function Clock() {
  const clock = useQuery('/v1/clock', {}, { on: ['clock.*'], everyMs: 30_000 })
  return (
    <Card title={t('system.clock')}>
      <Loaded query={clock}>
        {({ status, machine_time, service_time, doubt }) => (
          <>
            <p>
              <Lamp tone={status === 'plausible' ? 'ok' : 'bad'} label={word('system.clock', status)} />
            </p>
            {doubt === null ? null : (
              <Notice tone="bad">
                <Said>{doubt}</Said>
              </Notice>
            )}
            <Facts
              facts={[
                [t('system.clock.machine'), <Time key="machine" at={machine_time} />],
                [t('system.clock.service'), status === 'plausible' ? undefined : <Time at={service_time} />],
                [t('system.clock.off'), offText(machine_time)],
              ]}
            />
          </>
        )}
      </Loaded>
      {may('admin') ? (
        <div class="actions">
          <ConfirmClock onDone={clock.reload} />
        </div>
      ) : null}
    </Card>
  )
}

/** Less than that is the way and the reading. */
const NOTHING_MS = 5_000

function offText(machineTime: string): string | undefined {
  const offMs = Math.abs(Date.parse(machineTime) - Date.now())
  return offMs < NOTHING_MS ? undefined : durationText(offMs)
}

/** How the box itself is: its parts, version, clock and log, and what others may need of it. */
export function Page() {
  return (
    <>
      <h1>{t('system.title')}</h1>
      <Health />
      <div class="cards">
        <Version />
        <Clock />
        <Panels on="system" />
      </div>
    </>
  )
}

/** Which version runs, for how long, and where its words are. */
function Version() {
  const version = useQuery('/v1/version', {}, { on: ['plugin.*'] })
  const status = useQuery('/v1/status', {}, { everyMs: 60_000 })
  return (
    <Card title={t('system.version')}>
      <Loaded query={version}>
        {(running) => (
          <Facts
            facts={[
              [t('system.version.service'), running.version],
              [
                t('system.version.commit'),
                running.commit === null ? undefined : <code>{running.commit.slice(0, 12)}</code>,
              ],
              [
                t('system.version.built'),
                running.build_date === null ? undefined : <Time at={running.build_date} />,
              ],
              [
                t('system.uptime'),
                status.data === undefined ? undefined : durationText(status.data.uptime_s * 1_000),
              ],
              [
                t('system.node'),
                status.data === undefined ? undefined : (
                  <>
                    <code>{status.data.node_id}</code> <Copy text={status.data.node_id} />
                  </>
                ),
              ],
              [t('system.instance'), instanceText(status.data?.instance)],
              [t('system.licence'), 'Apache License 2.0'],
            ]}
          />
        )}
      </Loaded>
      <ul>
        <li>
          <a href="/docs">{t('app.docs')}</a>
        </li>
        <li>
          <a href="/docs/how-to/upgrade.html">{t('system.upgrade')}</a>
        </li>
      </ul>
    </Card>
  )
}

function instanceText(
  instance: { readonly name: string; readonly role: string; readonly leader: string | null } | undefined,
) {
  if (instance === undefined || instance.role === 'alone') return undefined
  return t('system.instance.of', { name: instance.name, role: instance.role, leader: instance.leader ?? '–' })
}

/** Every part: what is wrong first, with what to do; then all of them to compare. */
function Health() {
  const board = useBoard()
  const { at, components, error, incidents, reload } = board
  return (
    <Card title={t('system.health')}>
      <Loaded
        query={{
          data: at === undefined ? undefined : components,
          error,
          isLoading: at === undefined && error === undefined,
          reload,
        }}
      >
        {(rows) => (
          <>
            {incidents.length === 0 ? (
              <p>
                <Lamp tone="ok" label={wellText(board)} />
              </p>
            ) : null}
            <IncidentList board={board} />
            <DataTable
              label={t('system.health')}
              rows={illFirst(rows)}
              columns={columns()}
              keyOf={({ name }) => name}
            />
          </>
        )}
      </Loaded>
    </Card>
  )
}

const WORST = ['down', 'degraded']

/** What is wrong before what works, else as it was. */
function illFirst(rows: readonly Component[]): readonly Component[] {
  const rank = ({ status }: Component): number =>
    WORST.includes(status) ? WORST.indexOf(status) : WORST.length
  return rows.toSorted((one, other) => rank(one) - rank(other))
}

function columns(): readonly Column<Component>[] {
  return [
    {
      text: 'system.part',
      cell: ({ name }) => <span title={name}>{componentText(name)}</span>,
      compare: (a, b) => componentText(a.name).localeCompare(componentText(b.name)),
    },
    {
      text: 'system.state',
      cell: ({ status }) => <Lamp tone={healthTone(status)} label={word('system.status', status)} />,
      of: 'status',
      isSortable: true,
    },
    { text: 'system.kind', cell: ({ kind }) => word('system.kind', kind), isWide: true },
    { text: 'system.since', isTight: true, of: 'since', as: 'ago' },
    { text: 'system.detail', cell: ({ detail }) => <Said>{detail}</Said>, isWide: true },
  ]
}
