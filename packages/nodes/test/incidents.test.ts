import { readFileSync } from 'node:fs'
import {
  type ComponentState,
  type CoreWork,
  INCIDENT_KINDS,
  type IncidentKind,
  timestampFromMs,
} from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import { certificateHealth, quietWatch } from '../src/box-health.ts'
import { incidentLook, incidentRecords, incidentsOf, runbookOf } from '../src/incidents.ts'

/** Components that are not well become outages, each with its cause. */
const incidents = suite('nodes/incidents')
const MINUTE = 60_000

/** A component, ill unless something else is said. */
function ill(name: string, some: Partial<ComponentState> = {}): ComponentState {
  const common = { kind: 'feature', status: 'down', detail: `${name} is gone`, required: false } as const
  return { ...common, name, sinceMs: 1_000, lastOkAtMs: undefined, ...some }
}

/** The kinds that are shown, each with what follows from it. */
function shown(components: readonly ComponentState[]): readonly (readonly [IncidentKind, ...string[]])[] {
  return incidentsOf(components, undefined).map(({ kind, cause, effects }) => [kind, cause.name, ...effects])
}

incidents('says nothing of what is well', () => {
  assert.equal(
    shown([ill('store', { status: 'ok' }), ill('core.daemons', { status: 'ok', kind: 'core' })]),
    [],
  )
})

incidents('makes one of a core that is dead, with its radios, its database and who reads from it', () => {
  const dead = [
    ill('collector-mme.mme', { kind: 'collector', sinceMs: 500 }),
    ill('hss', { kind: 'hss', sinceMs: 600 }),
    ill('core.radios', { kind: 'core', incident: 'no_radio' }),
    ill('core.work', { kind: 'core', status: 'degraded' }),
    ill('core.daemons', { kind: 'core' }),
    ill('phones', { incident: 'nobody_attached', status: 'degraded' }),
  ]
  assert.equal(shown(dead), [
    ['no_core', 'core.daemons', 'hss', 'core.work', 'core.radios', 'phones', 'collector-mme.mme'],
  ])
})

incidents('tells a database that is gone from a core that works in part without it', () => {
  const gone = [ill('hss', { kind: 'hss' }), ill('core.work', { kind: 'core', status: 'degraded' })]
  assert.equal(shown(gone), [['database_gone', 'hss', 'core.work']])
})

incidents('says that there is no core only of one that does not answer', () => {
  const core = { kind: 'core', status: 'degraded' } as const
  assert.equal(shown([ill('core-config.core', core), ill('core.hss_events', core)]), [
    ['core_degraded', 'core-config.core', 'core.hss_events'],
  ])
  const part = ill('core.work', { kind: 'core', incident: 'core_degraded' })
  const daemons = ill('core.daemons', { ...core, incident: 'core_degraded' })
  const radio = ill('ran', { kind: 'ran' })
  assert.equal(shown([daemons, part, radio]), [['core_degraded', 'core.work', 'core.daemons', 'ran']])
  assert.equal(shown([ill('core-config.core', core), radio]), [
    ['no_radio', 'ran'],
    ['core_degraded', 'core-config.core'],
  ])
  assert.is(incidentsOf([part], 4)[0]?.phonesOff, 4)
  assert.is(incidentsOf([ill('core-config.core', core)], 4)[0]?.phonesOff, undefined)
  assert.equal(shown([part, ill('hss', { kind: 'hss' })]), [['database_gone', 'hss', 'core.work']])
})

incidents('names the other network of a core as the cause of what follows from it', () => {
  const other = ill('core.daemons', { kind: 'core', status: 'degraded', incident: 'other_network' })
  const follows = [
    ill('core.radios', { kind: 'core', incident: 'no_radio' }),
    ill('core-config.core', { kind: 'core', status: 'degraded' }),
    ill('phones', { incident: 'nobody_attached', status: 'degraded' }),
  ]
  assert.equal(shown([other, ...follows]), [
    ['other_network', 'core.daemons', 'core-config.core', 'core.radios', 'phones'],
  ])
  const [incident] = incidentsOf([other], 11)
  assert.is(incident?.phonesOff, undefined, 'phones of the other network are on')
})

incidents('has its own radio before what the core misses, however often that one comes and goes', () => {
  const missed = ill('core.radios', { kind: 'core', incident: 'no_radio', sinceMs: 500 })
  for (const status of ['down', 'degraded'] as const) {
    const own = ill('ran', { kind: 'ran', status, sinceMs: 900 })
    assert.equal(shown([missed, own]), [['no_radio', 'ran', 'core.radios']])
  }
})

incidents(
  'has all that fails with the store of the box under it, and nothing that failed before or elsewhere',
  () => {
    const sinceMs = 60_000
    const failed = [
      ill('alerts.events.tx.arm', { status: 'degraded', sinceMs: 90_000 }),
      ill('collectors.collector-mme', { kind: 'collector', status: 'degraded', sinceMs: 59_000 }),
      ill('sessions', { status: 'degraded', sinceMs: 61_000 }),
      ill('store', { kind: 'store', sinceMs }),
    ]
    const others = [
      ill('esim-smdp.certificates', { status: 'degraded', sinceMs: 1_000 }),
      ill('node/ab/core.daemons', { kind: 'peer', sinceMs: 61_000 }),
    ]
    const names = failed.map(({ name }) => name)
    const [first, ...rest] = shown([...failed, ...others])
    assert.equal(first?.slice(0, 2), ['store_gone', 'store'])
    assert.equal(first?.slice(1).toSorted(), names.toSorted())
    assert.equal(rest.map(([, name]) => name).toSorted(), others.map(({ name }) => name).toSorted())
    const full = ill('nodes.disk', { incident: 'disk_full', sinceMs })
    assert.equal(shown([...failed, full])[0]?.toSorted(), ['disk_full', 'nodes.disk', ...names].toSorted())
    assert.is(shown([...failed, full]).length, 1)
  },
)

incidents('has what waits for the core, its phones and its counts under the core', () => {
  const waiting = ['sims.provisioning', 'sims.kicks', 'sessions', 'fair-use.quotas', 'core-config.core'].map(
    (name) => ill(name, { status: 'degraded' }),
  )
  const other = ill('esim-smdp.smdp', { status: 'degraded' })
  const names = waiting.map(({ name }) => name)
  for (const cause of [ill('core.daemons', { kind: 'core' }), ill('hss', { kind: 'hss' })]) {
    const [first, second] = shown([...waiting, other, cause])
    assert.equal([first?.[1], first?.slice(2).toSorted()], [cause.name, names.toSorted()])
    assert.equal(second, ['part', other.name])
  }
  assert.is(shown(waiting).length, waiting.length)
})

incidents('has the full disk first, and its store and backup behind it', () => {
  const full = [
    ill('backup', { incident: 'backup_overdue', status: 'degraded' }),
    ill('store', { kind: 'store', status: 'degraded' }),
    ill('nodes.disk', { incident: 'disk_full' }),
  ]
  assert.equal(shown(full), [['disk_full', 'nodes.disk', 'store', 'backup']])
})

incidents('is one of a disk that is full, with all whose events the store did not take', () => {
  const listeners = [
    'groups.events.policy.*',
    'alerts.events.tx.auto_disarmed',
    'card-writer.events.sim.erase',
  ]
  const failed = listeners.map((name) =>
    ill(name, { status: 'degraded', incident: 'store_gone', sinceMs: 1 }),
  )
  const common = { kind: 'store', status: 'degraded', incident: 'disk_full', sinceMs: 60_000 } as const
  const sessions = ill('sessions', { status: 'degraded', sinceMs: 55_000 })
  const store = ill('store', common)
  assert.is(incidentsOf([store], undefined)[0]?.severity, 'critical')
  for (const disk of [[], [ill('nodes.disk', { incident: 'disk_full', sinceMs: 61_000 })]]) {
    const found = shown([...failed, sessions, store, ...disk])
    assert.is(found.length, 1)
    assert.equal(found[0]?.[0], 'disk_full')
    assert.is(found[0]?.length, 3 + failed.length + disk.length)
  }
})

incidents('keeps apart what has nothing to do with each other, the gravest first', () => {
  const both = [
    ill('esim-smdp.smdp', { status: 'degraded' }),
    ill('alerts.webhook.a', { status: 'degraded' }),
    ill('node/ab', { kind: 'peer' }),
    ill('nodes.internet', { incident: 'no_internet' }),
  ]
  assert.equal(shown(both), [
    ['no_internet', 'nodes.internet'],
    ['box_silent', 'node/ab'],
    ['part', 'esim-smdp.smdp'],
    ['part', 'alerts.webhook.a'],
  ])
})

incidents('has one row for all boxes that are silent, and one for each that is not well', () => {
  const silent = ['a', 'b', 'c'].map((id, index) =>
    ill(`node/${id}`, { kind: 'peer', box: id, sinceMs: 3 - index }),
  )
  const parts = ['d/core', 'd/radio', 'e/core'].map((id) =>
    ill(`node/${id}`, { kind: 'peer', status: 'degraded', box: id.slice(0, 1) }),
  )
  const found = incidentsOf([...silent, ...parts], undefined)
  assert.equal(
    found.map(({ id, title, cause, effects }) => [id, title, cause.name, effects.length]),
    [
      ['box_silent', '3 boxes do not answer', 'node/c', 2],
      ['part:node/d', 'The box d is not well', 'node/d/core', 1],
      ['part:node/e', 'The box e is not well', 'node/e/core', 0],
    ],
  )
  const [one] = incidentsOf(silent.slice(0, 1), undefined)
  assert.is(one?.title, 'A box does not answer')
})

incidents('loses no component and shows none twice, whatever is ill', () => {
  const kinds = ['core', 'hss', 'ran', 'collector', 'store', 'feature', 'peer'] as const
  const told = [undefined, ...INCIDENT_KINDS]
  let seed = 1
  const next = (most: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % most
  }
  for (let round = 0; round < 2_000; round += 1) {
    const components = Array.from({ length: 1 + next(9) }, (_, index) =>
      ill(`part-${index}`, {
        kind: kinds[next(kinds.length)] ?? 'core',
        incident: told[next(told.length)],
        status: (['ok', 'degraded', 'down'] as const)[next(3)] ?? 'ok',
        sinceMs: next(5),
      }),
    )
    const found = incidentsOf(components, 3)
    const names = found.flatMap(({ cause, effects }) => [cause.name, ...effects])
    const bad = components.filter(({ status }) => status !== 'ok').map(({ name }) => name)
    assert.equal(names.toSorted(), bad.toSorted(), JSON.stringify(components))
    assert.is(new Set(found.map(({ id }) => id)).size, found.length)
    assert.equal(
      incidentsOf(components.toReversed(), 3)
        .map(({ id }) => id)
        .toSorted(),
      found.map(({ id }) => id).toSorted(),
    )
  }
})

incidents('counts the phones that were on before the core lost them', async () => {
  const clock = fakeClock()
  let components: readonly ComponentState[] = []
  let attached: number | undefined = 14
  const look = incidentLook(clock, async () => attached)
  const current = () => look(components)
  assert.equal(await current(), [])
  await clock.advance(10_000)
  // The core loses its phones first, and then says that its radio is gone.
  attached = 0
  assert.equal(await current(), [])
  await clock.advance(10_000)
  components = [ill('core.radios', { kind: 'core', incident: 'no_radio' })]
  assert.equal(
    (await current()).map(({ phonesOff }) => phonesOff),
    [14],
  )
  await clock.advance(10 * MINUTE)
  attached = 2
  const [incident] = await current()
  assert.is(incident?.phonesOff, 12)
  assert.ok(
    incident !== undefined &&
      (incidentRecords([incident])[0] as { impact: string }).impact === '12 phones are off.',
  )
})

incidents('takes no planned restart of the core for an outage before its time is over', async () => {
  const clock = fakeClock()
  const sinceMs = clock.nowMs()
  const work: CoreWork = { files: ['amf.yaml'], daemons: ['amf'], sinceMs, untilMs: sinceMs + 30_000 }
  const look = incidentLook(
    clock,
    async () => 0,
    () => work,
  )
  const core = (more: Partial<ComponentState> = {}) =>
    ill('core.radios', { kind: 'core', sinceMs, lastOkAtMs: sinceMs - 5_000, ...more })
  const radio = core({ incident: 'no_radio', sinceMs: sinceMs + 2_000 })
  const before = core({ name: 'core.work', sinceMs: sinceMs - 1 })
  const tx = ill('ran', { kind: 'ran', incident: 'cell_not_permitted', sinceMs: sinceMs + 1 })
  const kinds = async (...components: readonly ComponentState[]) =>
    (await look(components)).map(({ kind }) => kind)
  assert.equal(await kinds(core(), radio), [])
  assert.equal(await kinds(radio, tx), ['cell_not_permitted'])
  assert.equal(await kinds(before), ['no_core'], 'it was not well before')
  const worse = core({ name: 'core.daemons', sinceMs: sinceMs + 1_000, lastOkAtMs: sinceMs - MINUTE })
  assert.equal(await kinds(worse), ['no_core'], 'it was not well before, and its status changed since')
  assert.equal(await kinds({ ...worse, lastOkAtMs: undefined }), ['no_core'], 'it was never well')
  await clock.advance(30_000)
  assert.equal(await kinds(radio), ['no_radio'])
  const [record] = incidentRecords(await look([radio])) as readonly { change?: object; advice: string }[]
  assert.equal(record?.change, { files: ['amf.yaml'], restarted: ['amf'], at: timestampFromMs(sinceMs) })
  assert.match(record?.advice ?? '', 'after the box changed amf.yaml: undo that change first')
  const restart = incidentLook(
    clock,
    async () => 0,
    () => ({ ...work, files: [] }),
  )
  const [bare] = incidentRecords(await restart([radio])) as readonly { advice: string }[]
  assert.match(bare?.advice ?? '', /^It began after the box restarted amf\. /)
  assert.not.match(bare?.advice ?? '', 'undo', 'nothing was changed that could be undone')
  const late = { ...radio, sinceMs: sinceMs + 11 * MINUTE }
  const [other] = incidentRecords(await look([late])) as readonly { change?: object; advice: string }[]
  assert.is(other?.change, undefined)
  assert.not.match(other?.advice ?? '', 'undo that change')
})

incidents('hides what follows from planned work with it, and shows what was not well before', async () => {
  const clock = fakeClock()
  const sinceMs = clock.nowMs()
  const work: CoreWork = { files: [], daemons: ['amf'], sinceMs, untilMs: sinceMs + 30_000 }
  const look = incidentLook(
    clock,
    async () => 0,
    () => work,
  )
  const late = { sinceMs: sinceMs + 1_000, lastOkAtMs: sinceMs }
  const core = ill('core.daemons', { kind: 'core', ...late })
  const radio = ill('ran', { kind: 'ran', ...late })
  const kicks = ill('sims.kicks', { status: 'degraded', ...late })
  const early = ill('sims.provisioning', { status: 'degraded', sinceMs: sinceMs - 1 })
  const tx = ill('ran.cell', { kind: 'ran', incident: 'cell_not_permitted', ...late })
  const names = async (...components: readonly ComponentState[]) =>
    (await look(components)).map(({ cause, effects }) => [cause.name, ...effects])
  assert.equal(await names(core, radio, kicks), [])
  assert.equal(await names(core, kicks, early), [['sims.provisioning']])
  assert.equal(await names(core, radio, tx), [['ran.cell']])
  assert.equal(await names(radio, kicks), [['ran'], ['sims.kicks']], 'no work explains them')
  const before = ill('core.work', { kind: 'core', sinceMs: sinceMs - 1 })
  assert.equal(await names(core, before, radio), [['core.work', 'core.daemons', 'ran']])
  await clock.advance(30_000)
  assert.equal(await names(core, radio, kicks), [['core.daemons', 'ran', 'sims.kicks']])
})

incidents('shows what is not well once the clock is set back to before a change of the core', async () => {
  const clock = fakeClock()
  const sinceMs = clock.nowMs() + 3 * 86_400_000
  const work: CoreWork = { files: [], daemons: ['amf'], sinceMs, untilMs: sinceMs + 30_000 }
  const look = incidentLook(
    clock,
    async () => 0,
    () => work,
  )
  const core = ill('core.daemons', { kind: 'core', sinceMs: sinceMs + 1, lastOkAtMs: sinceMs })
  assert.equal(
    (await look([core])).map(({ kind }) => kind),
    ['no_core'],
  )
})

incidents('names a section of the runbook that is there, for each kind', () => {
  const page = readFileSync(new URL('../../../docs/how-to/on-duty.md', import.meta.url), 'utf8')
  const sections = [...page.matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  )
  for (const kind of INCIDENT_KINDS) assert.ok(sections.includes(runbookOf(kind).split('#')[1] ?? ''), kind)
})

incidents('misses phones after half an hour, and expects nobody after a day', () => {
  const look = quietWatch()
  assert.is(look(0, 0).status, 'ok')
  assert.is(look(14, 1 * MINUTE).status, 'ok')
  assert.is(look(2, 5 * MINUTE).status, 'ok')
  assert.is(look(0, 30 * MINUTE).status, 'ok')
  assert.is(look(undefined, 36 * MINUTE).status, 'ok')
  const quiet = look(0, 36 * MINUTE)
  assert.equal([quiet.status, quiet.incident], ['degraded', 'nobody_attached'])
  assert.match(quiet.detail, /up to 14 until 1970-01-01T00:05/)
  assert.is(look(0, 26 * 60 * MINUTE).status, 'ok')
  const one = quietWatch()
  one(1, 0)
  assert.is(one(0, 40 * MINUTE).status, 'ok')
})

incidents('tells of certificates two weeks before they end', () => {
  const day = 86_400_000
  const ends = new Map([
    ['node', 30 * day],
    ['tls.cert_file', 10 * day],
    ['old', -day],
  ])
  assert.equal(
    certificateHealth(ends, 0).map(({ name, status }) => [name, status]),
    [
      ['certificate.node', 'ok'],
      ['certificate.tls.cert_file', 'degraded'],
      ['certificate.old', 'down'],
    ],
  )
})

incidents.run()
