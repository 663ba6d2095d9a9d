import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { download } from '../../api/download.ts'
import { has } from '../../api/features.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { locale, t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { bytesText } from '../../ui/bytes.tsx'
import { Copy } from '../../ui/copy.tsx'
import { type Column, DataTable } from '../../ui/data-table.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Checkbox, Field, Select } from '../../ui/field.tsx'
import { type Component, healthTone } from '../../ui/health-list.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'
import { durationText, Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.tsx'

type Levels = AnswerOf<'GET', '/v1/log-level'>

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
const LENGTHS = ['15m', '1h', '8h', '24h'] as const

/** What is logged, and more or less of it for a time. */
function LogLevel() {
  const levels = useQuery('/v1/log-level', {}, { on: ['log.*', 'plugin.*'], everyMs: 60_000 })
  return (
    <section class="card" aria-label={t('system.log')}>
      <h2>{t('system.log')}</h2>
      <Loaded query={levels}>
        {(known) => (
          <>
            <p>{t('system.log.now', { level: known.level })}</p>
            <Holds levels={known} onChanged={levels.reload} />
            <NewHold components={known.components} onChanged={levels.reload} />
          </>
        )}
      </Loaded>
    </section>
  )
}

function Holds({ levels, onChanged }: { readonly levels: Levels; readonly onChanged: () => void }) {
  const end = useAction((component: string | null) =>
    api.put('/v1/log-level', { body: { ...(component === null ? {} : { component }), level: null } }),
  )
  if (levels.holds.length === 0) return null
  return (
    <>
      <ul>
        {levels.holds.map(({ component, level, until }) => (
          <li key={component}>
            {t('system.log.hold', { component: component ?? t('system.log.all'), level })} <Time at={until} />{' '}
            <Button kind="quiet" isBusy={end.isBusy} onClick={() => void end.run(component).then(onChanged)}>
              {t('system.log.end')}
            </Button>
          </li>
        ))}
      </ul>
      {end.error === undefined ? null : <ErrorNotice error={end.error} />}
    </>
  )
}

function NewHold({
  components,
  onChanged,
}: {
  readonly components: readonly string[]
  readonly onChanged: () => void
}) {
  const [component, setComponent] = useState('')
  const [level, setLevel] = useState<string>('debug')
  const [length, setLength] = useState<string>('15m')
  const set = useAction(() => {
    const wanted = LEVELS.find((one) => one === level) ?? 'debug'
    const body = { ...(component === '' ? {} : { component }), level: wanted, for: length }
    return api.put('/v1/log-level', { body })
  })
  const run = async (): Promise<void> => {
    if ((await set.run())?.ok !== true) return
    toast({ text: t('system.log.done') })
    onChanged()
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void run()
      }}
    >
      <Select
        label={t('system.log.component')}
        value={component}
        onChange={setComponent}
        options={[
          { value: '', label: t('system.log.all') },
          ...components.map((value) => ({ value, label: value })),
        ]}
      />
      <Select
        label={t('system.log.level')}
        value={level}
        onChange={setLevel}
        options={LEVELS.map((value) => ({ value, label: t(`system.log.level.${value}`) }))}
      />
      <Select
        label={t('system.log.for')}
        help={t('system.log.for.help')}
        value={length}
        onChange={setLength}
        options={LENGTHS.map((value) => ({ value, label: t(`system.log.for.${value}`) }))}
      />
      {set.error === undefined ? null : <ErrorNotice error={set.error} />}
      <Button type="submit" isBusy={set.isBusy}>
        {t('system.log.set')}
      </Button>
    </form>
  )
}

const KINDS = ['lifecycle', 'sim', 'tx', 'policy', 'session', 'export', 'checkpoint'] as const

/** The file that the regulator gets, of a time and of what it is to be about. */
function RegulatorFile() {
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [kinds, setKinds] = useState<ReadonlySet<string>>(new Set(KINDS))
  const take = useAction(() =>
    download('/v1/compliance/export', { query: queryOf(from, to, kinds), timeoutMs: 120_000 }),
  )
  const run = async (): Promise<void> => {
    const result = await take.run()
    if (result?.ok === true)
      toast({ text: t('system.file.taken', { name: result.data.name, size: bytesText(result.data.bytes) }) })
  }
  const toggle = (kind: string): void => {
    const next = new Set(kinds)
    if (!next.delete(kind)) next.add(kind)
    setKinds(next)
  }
  return (
    <section class="card" aria-label={t('system.regulator')}>
      <h2>{t('system.regulator')}</h2>
      <p>{t('system.regulator.what')}</p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <Field
          label={t('system.regulator.from')}
          help={t('system.regulator.from.help')}
          type="date"
          value={from}
          onInput={setFrom}
        />
        <Field
          label={t('system.regulator.to')}
          help={t('system.regulator.to.help')}
          type="date"
          value={to}
          onInput={setTo}
        />
        <fieldset>
          <legend>{t('system.regulator.kinds')}</legend>
          {KINDS.map((kind) => (
            <Checkbox
              key={kind}
              label={t(`system.regulator.kind.${kind}`)}
              isChecked={kinds.has(kind)}
              onChange={() => toggle(kind)}
            />
          ))}
        </fieldset>
        {take.error === undefined ? null : <ErrorNotice error={take.error} />}
        <Button type="submit" isBusy={take.isBusy} isDisabled={kinds.size === 0}>
          {t('system.regulator.take')}
        </Button>
      </form>
      <Erasures />
    </section>
  )
}

/** Midnights of the reader. The last day is whole. */
function queryOf(from: string, to: string, kinds: ReadonlySet<string>): Readonly<Record<string, string>> {
  const end = new Date(`${to}T00:00`)
  if (to !== '') end.setDate(end.getDate() + 1)
  return {
    ...(from === '' ? {} : { from: new Date(`${from}T00:00`).toISOString() }),
    ...(to === '' ? {} : { to: end.toISOString() }),
    ...(kinds.size === KINDS.length ? {} : { kinds: [...kinds].join(',') }),
  }
}

function Erasures() {
  const { data } = useQuery('/v1/compliance/erasures', {}, { on: ['sim.forget', 'sim.erase'] })
  if (data === undefined || data.erasures.length === 0) return null
  return (
    <>
      <h3>{t('system.erasures')}</h3>
      <ul>
        {data.erasures.map((one) => (
          <li key={one.imsi_sha256_12}>
            <code>{one.imsi_sha256_12}</code> · <Time at={one.asked_at} relative /> ·{' '}
            {one.waits_for ?? t('system.erasures.soon')}
          </li>
        ))}
      </ul>
    </>
  )
}

/** Whether the clock of the machine is believed; who knows the time says so. */
function Clock() {
  const [isAsked, setAsked] = useState(false)
  const clock = useQuery('/v1/clock', {}, { on: ['clock.*'], everyMs: 30_000 })
  // What this device says is sent too: the service refuses where the two differ by more than a minute.
  const confirm = useAction(() => api.post('/v1/clock/confirm', { body: { time: new Date().toISOString() } }))
  const run = async (): Promise<void> => {
    if ((await confirm.run())?.ok !== true) return
    setAsked(false)
    toast({ text: t('system.clock.confirmed') })
    clock.reload()
  }
  return (
    <section class="card" aria-label={t('system.clock')}>
      <h2>{t('system.clock')}</h2>
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
          <Button onClick={() => setAsked(true)}>{t('system.clock.confirm')}</Button>
        </div>
      ) : null}
      <ConfirmDialog
        isOpen={isAsked}
        title={t('system.clock.confirm.title')}
        confirm={t('system.clock.confirm')}
        isBusy={confirm.isBusy}
        error={confirm.error}
        onConfirm={() => void run()}
        onClose={() => setAsked(false)}
      >
        <p>{t('system.clock.confirm.what', { now: new Date().toLocaleString(locale()) })}</p>
      </ConfirmDialog>
    </section>
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
        {has('support') && may('admin') ? <LogLevel /> : null}
        {has('support') && may('admin') ? <SupportBundle /> : null}
        {has('compliance') && may('operator') ? <RegulatorFile /> : null}
      </div>
    </>
  )
}

/** What those who help need to know, as a file. */
function SupportBundle() {
  const take = useAction(() => download('/v1/support/bundle', { timeoutMs: 120_000 }))
  const run = async (): Promise<void> => {
    const result = await take.run()
    if (result?.ok === true)
      toast({ text: t('system.file.taken', { name: result.data.name, size: bytesText(result.data.bytes) }) })
  }
  return (
    <section class="card" aria-label={t('system.bundle')}>
      <h2>{t('system.bundle')}</h2>
      <p>{t('system.bundle.what')}</p>
      <p>
        <a href="/docs/how-to/support.html">{t('system.bundle.docs')}</a>
      </p>
      {take.error === undefined ? null : <ErrorNotice error={take.error} />}
      <div class="actions">
        <Button isBusy={take.isBusy} onClick={() => void run()}>
          {t('system.bundle.take')}
        </Button>
      </div>
    </section>
  )
}

/** Which version runs, for how long, and where its words are. */
function Version() {
  const version = useQuery('/v1/version', {}, { on: ['plugin.*'] })
  const status = useQuery('/v1/status', {}, { everyMs: 60_000 })
  return (
    <section class="card" aria-label={t('system.version')}>
      <h2>{t('system.version')}</h2>
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
    </section>
  )
}

function instanceText(
  instance: { readonly name: string; readonly role: string; readonly leader: string | null } | undefined,
) {
  if (instance === undefined || instance.role === 'alone') return undefined
  return t('system.instance.of', { name: instance.name, role: instance.role, leader: instance.leader ?? '–' })
}

/** Every part: what is not well first, with why and what to do; then all of them to compare. */
function Health() {
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
