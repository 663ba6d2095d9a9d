import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AgentView,
  agentWatchRef,
  type ComponentState,
  certificateEndsRef,
  clockJudgeRef,
  healthBoardRef,
  type ImsiHash,
  INCIDENT_KINDS,
  INCIDENT_TITLES,
  type Incident,
  type IncidentKind,
  incidentBoardRef,
  LANGUAGES,
  type Manifest,
  type MetricReading,
  metricsReaderRef,
  nodeIdentityRef,
  serviceInfoRef,
} from '@steeple/contracts'
import { assert, type FakeContext, fakeContext, memoryDb, suite, tempDir } from '@steeple/testkit'
import type { AlertsConfig } from '../src/config.ts'
import { alertMetrics } from '../src/metrics.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { outageIn } from '../src/record.ts'
import { alertRules } from '../src/rules/built-in.ts'
import type { Finding, Look } from '../src/rules/rule.ts'

const rules = suite('alerts/built-in')
const DAY_MS = 86_400_000
/** The manifests of this repository that bring rules, with the folders of their packages. */
const MANIFESTS = readdirSync(new URL('../../', import.meta.url)).flatMap((folder) => {
  const path = new URL(`../../${folder}/package.json`, import.meta.url)
  const steeple: Manifest | undefined = existsSync(path)
    ? JSON.parse(readFileSync(path, 'utf8')).steeple
    : undefined
  return steeple?.alerts === undefined && steeple?.certificates === undefined ? [] : [{ folder, ...steeple }]
})

/** What the rules look at, for a test to change. */
interface Box {
  readonly fake: FakeContext<AlertsConfig>
  readonly components: ComponentState[]
  readonly agents: AgentView[]
  readonly readings: Map<string, MetricReading>
  clock: { machineMs: number; serviceMs: number; doubt: string | undefined }
  incidents: Incident[]
  identity: { nodeId: string; name: string; certificateExpiresAtMs: number }
  plugins: readonly Pick<Manifest, 'alerts' | 'certificates'>[]
  names(): ReadonlySet<string>
  edges: { warned: Map<ImsiHash, number>; exceeded: Map<ImsiHash, number> } | undefined
  look(rule: string): Promise<Look>
  at(rule: string, subject: string): Promise<Finding>
}

function box(config: Partial<AlertsConfig> = {}, dataDir = '/'): Box {
  const components: ComponentState[] = []
  const agents: AgentView[] = []
  const readings = new Map<string, MetricReading>()
  const state = {
    clock: { machineMs: 0, serviceMs: 0, doubt: undefined as string | undefined },
    incidents: [] as Incident[],
    identity: { nodeId: 'n', name: 'north', certificateExpiresAtMs: Number.MAX_SAFE_INTEGER },
    edges: undefined as Box['edges'],
    plugins: MANIFESTS,
  }
  const fake = fakeContext<AlertsConfig>({
    id: 'alerts',
    config: {
      enabled: true,
      rules: [],
      webhooks: [],
      disabled_rules: [],
      interval: '5s',
      retention: '90d',
      ...config,
    },
    db: memoryDb(MIGRATIONS),
    settings: { server: { data_dir: dataDir }, policy: { max_ues: 100 } },
    services: new Map<string, object>([
      [nodeIdentityRef.id, state.identity],
      [healthBoardRef.id, { components: () => components, isReady: true }],
      [metricsReaderRef.id, { read: async () => readings }],
      [clockJudgeRef.id, { view: () => state.clock }],
      [agentWatchRef.id, { agents: async () => agents }],
      [
        'fair_use.edges',
        {
          bad: async (rule: string) =>
            rule === 'sim_quota_80' ? state.edges?.warned : state.edges?.exceeded,
        },
      ],
      [serviceInfoRef.id, { plugins: () => state.plugins }],
      [
        certificateEndsRef.id,
        { ends: async () => new Map([['node', state.identity.certificateExpiresAtMs]]) },
      ],
      [incidentBoardRef.id, { current: async () => state.incidents }],
    ]),
  })
  const { watches, names } = alertRules(fake.context, alertMetrics(fake.metrics))
  for (const watch of watches) watch.listen?.()
  const look = async (rule: string): Promise<Look> => {
    const looks = (await Promise.all(watches.map((watch) => watch.looks()))).flat()
    const found = looks.find((one) => one.rule.name === rule)
    if (found === undefined) throw new Error(`nothing looks at ${rule}`)
    return found
  }
  return Object.assign(state, {
    fake,
    components,
    agents,
    readings,
    look,
    names,
    at: async (rule: string, subject: string) => (await look(rule)).at(subject),
  })
}

/** Outages with a rule of their own. */
const RULES: Readonly<Partial<Record<IncidentKind, string>>> = {
  disk_full: 'disk_almost_full',
  disk_low: 'disk_low',
  clock_wrong: 'clock_skew',
  certificate_ending: 'certificate_expiring',
  box_silent: 'heartbeat_stale',
}
/** Outages in which nothing is down. */
const QUIET: ReadonlySet<IncidentKind> = new Set([
  ...(['no_registration', 'nobody_attached', 'backup_overdue'] as const),
])

const component = (name: string, status: ComponentState['status']): ComponentState => ({
  name,
  kind: 'core',
  status,
  detail: 'no answer',
  required: true,
  sinceMs: 0,
  lastOkAtMs: undefined,
})
const gauge = (value: number, labels: Readonly<Record<string, string>> = {}): MetricReading => ({
  kind: 'gauge',
  samples: [{ labels, value }],
})

rules('say that a component is down, and not that one is degraded', async () => {
  const all = box()
  all.components.push(component('core.mme', 'down'), component('hss', 'degraded'), component('ran', 'ok'))
  const look = await all.look('component_down')
  assert.equal([...look.bad()], ['core.mme'])
  assert.equal(
    ['core.mme', 'hss', 'ran', 'gone'].map((name) => look.at(name).level),
    ['bad', 'between', 'good', 'unknown'],
  )
  assert.is(look.at('core.mme').message, 'A part is not well: core.mme: no answer')
  assert.ok(look.rule.forMs > 0)
})

rules('make one alert of an incident, with its words, and none of what follows from it', async () => {
  const all = box()
  const [daemons, reader] = [component('core.daemons', 'down'), component('collector.mme', 'down')]
  all.components.push(daemons, reader, component('nodes.disk', 'down'))
  const about = { severity: 'critical', effects: [], sinceMs: 0, phonesOff: undefined } as const
  all.incidents = [
    {
      ...about,
      id: 'no_core',
      kind: 'no_core',
      title: 'No core',
      cause: daemons,
      effects: ['collector.mme'],
      phonesOff: 14,
    },
    {
      ...about,
      id: 'disk_full',
      kind: 'disk_full',
      title: 'The disk is full',
      cause: component('nodes.disk', 'down'),
    },
  ]
  const look = await all.look('component_down')
  assert.equal([...look.bad()], ['core.daemons'])
  assert.is(look.at('collector.mme').level, 'between')
  assert.is(look.at('core.daemons').message, 'No core, 14 phones are off: no answer')
})

rules('call an outage of each kind as the health does, in the alert and in messages', async () => {
  const dir = await tempDir()
  for (const kind of INCIDENT_KINDS) {
    const all = box({}, dir.path)
    const cause = component('a.cause', QUIET.has(kind) ? 'degraded' : 'down')
    const title = INCIDENT_TITLES[kind]
    const severity = QUIET.has(kind) ? 'warning' : 'critical'
    all.components.push(cause)
    all.incidents = [{ id: kind, kind, title, severity, cause, effects: [], sinceMs: 0, phonesOff: 2 }]
    all.clock = { machineMs: 9, serviceMs: 0, doubt: 'it leaps' }
    all.identity.certificateExpiresAtMs = DAY_MS / 2
    all.agents.push(agent({ isStale: true, silentMs: 45_000 }))
    const rule = RULES[kind] ?? (QUIET.has(kind) ? kind : 'component_down')
    const look = await all.look(rule)
    // A disk is what it is: what is said of one that is full is looked at without filling it.
    const { message } = look.at(look.badCount === 0 ? 'disk' : ([...look.bad()][0] ?? ''))
    assert.is(outageIn(message), title, `${kind}: ${message}`)
    assert.not.match(message.slice(title.length), new RegExp(title))
    await all.fake.dispose()
  }
  await dir.remove()
})

rules('say that phones stay away, and that it is over', async () => {
  const all = box()
  assert.is((await all.at('nobody_attached', 'phones')).level, 'good')
  const cause = component('phones', 'degraded')
  const kind = 'nobody_attached'
  all.incidents = [
    {
      id: kind,
      kind,
      title: 'No phone has joined',
      severity: 'warning',
      cause,
      effects: [],
      sinceMs: 0,
      phonesOff: 3,
    },
  ]
  const found = await all.at(kind, 'phones')
  assert.equal([found.level, found.message], ['bad', 'No phone has joined, 3 phones are off: no answer'])
})

const agent = (more: Partial<AgentView>): AgentView => ({
  nodeId: 'n2',
  name: 'hill',
  isStale: false,
  silentMs: 0,
  skewMs: 0,
  components: [component('node/n2', 'ok'), component('node/n2/enb', 'down')],
  ...more,
})

rules(
  'say that a heartbeat is stale, and of an agent that shows what it reports down and how its clock goes',
  async () => {
    const all = box()
    all.agents.push(agent({ skewMs: -11_000 }))
    assert.equal([...(await all.look('component_down')).bad()], ['node/n2/enb'])
    assert.is((await all.at('heartbeat_stale', 'node/n2')).level, 'good')
    const skewed = await all.at('clock_skew', 'node/n2')
    assert.equal(
      [skewed.level, skewed.value, skewed.message],
      ['bad', -11, 'the clock of hill is 11 s behind'],
    )
    all.agents[0] = agent({ skewMs: 7_000 })
    assert.is((await all.at('clock_skew', 'node/n2')).level, 'between')
    all.agents[0] = agent({ skewMs: 4_000 })
    assert.is((await all.at('clock_skew', 'node/n2')).level, 'good')
    all.agents[0] = agent({ isStale: true, silentMs: 45_000 })
    assert.is((await all.look('component_down')).badCount, 0, 'what it said last says nothing')
    const stale = await all.at('heartbeat_stale', 'node/n2')
    assert.equal(
      [stale.level, stale.value, stale.message],
      ['bad', 45, 'A box does not answer: no heartbeat of hill for 45 s'],
    )
  },
)

rules('tell of the outages that a box tells of, one each, and of the end of each', async () => {
  const all = box()
  const outage = { kind: 'no_radio', severity: 'critical', title: 'No radio' }
  const minor = { kind: 'part', severity: 'warning', title: 'A part is not well' }
  const bad = async () => [...(await all.look('component_down')).bad()]
  all.agents.push(agent({ incidents: [outage, minor] }))
  assert.equal(await bad(), ['node/n2/no_radio'], 'its parts are told with it')
  assert.is((await all.at('component_down', 'node/n2/no_radio')).message, 'hill: No radio')
  all.agents[0] = agent({ incidents: [minor] })
  assert.equal(await bad(), ['node/n2/enb'])
  assert.is((await all.at('component_down', 'node/n2/no_radio')).level, 'good')
  all.agents[0] = agent({ incidents: [outage] })
  await bad()
  all.agents[0] = agent({ isStale: true, silentMs: 45_000, incidents: [outage] })
  assert.equal(await bad(), [])
  assert.is(
    (await all.at('component_down', 'node/n2/no_radio')).level,
    'unknown',
    'nobody knows how it is now',
  )
})

rules('say that the HSS does not take SIMs', async () => {
  const all = box()
  assert.is((await all.at('hss_push_failing', 'hss')).level, 'unknown')
  all.readings.set('svc_sims_unsynced', {
    kind: 'gauge',
    samples: [
      { labels: { status: 'pending' }, value: 9 },
      { labels: { status: 'failed' }, value: 0 },
    ],
  })
  assert.is((await all.at('hss_push_failing', 'hss')).level, 'good')
  all.components.push({ ...component('driver-hss.hss', 'down'), kind: 'hss' })
  const away = await all.at('hss_push_failing', 'hss')
  assert.equal(
    [away.level, away.value, away.message],
    ['bad', 9, '0 SIMs could not be written to the HSS, 9 wait for it: it does not answer'],
  )
  all.components.pop()
  all.readings.set('svc_sims_unsynced', gauge(3, { status: 'failed' }))
  assert.is((await all.at('hss_push_failing', 'hss')).message, '3 SIMs could not be written to the HSS')
})

rules(
  'say that there are more sessions than phones are planned for, and when the surge is over',
  async () => {
    const all = box()
    const level = async (...counts: readonly number[]): Promise<string> => {
      const samples = counts.map((value, index) => ({ labels: { apn: String(index) }, value }))
      all.readings.set('svc_sessions_active', { kind: 'gauge', samples })
      return (await all.at('session_surge', 'sessions')).level
    }
    assert.equal(
      [await level(60, 40), await level(60, 41), await level(60, 36), await level(60, 35)],
      ['between', 'bad', 'between', 'good'],
    )
  },
)

rules('say that TX has disarmed itself until somebody arms or disarms it, over a crash too', async () => {
  const all = box()
  const level = async (): Promise<string> => (await all.at('tx_auto_disarmed', 'tx')).level
  assert.is(await level(), 'good')
  for (const type of ['tx.arm', 'tx.disarm']) {
    await all.fake.emit({ type: 'tx.auto_disarmed', subject: 'roof', atMs: 2_000 })
    assert.match((await all.at('tx_auto_disarmed', 'tx')).message, /profile roof/)
    await all.fake.emit({ type, subject: 'tx', atMs: 1_000 })
    assert.is(await level(), 'bad', 'that was before')
    await all.fake.emit({ type, subject: 'tx', atMs: 3_000 })
    assert.is(await level(), 'good')
  }
})

rules('say which SIMs have used up their quota or four fifths of it', async () => {
  const all = box()
  const blind = await all.look('sim_quota_80')
  assert.equal([blind.isBlind, blind.badCount, blind.at('aaaaaaaaaaaa').level], [true, 0, 'unknown'])
  all.edges = {
    warned: new Map([
      ['aaaaaaaaaaaa' as ImsiHash, 85.9],
      ['bbbbbbbbbbbb' as ImsiHash, 120],
    ]),
    exceeded: new Map([['bbbbbbbbbbbb' as ImsiHash, 120]]),
  }
  assert.equal([...(await all.look('sim_quota_80')).bad()], ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'])
  assert.equal([...(await all.look('sim_quota_100')).bad()], ['bbbbbbbbbbbb'])
  const { level, value, threshold, message } = await all.at('sim_quota_80', 'aaaaaaaaaaaa')
  assert.equal(
    [level, value, threshold, message],
    ['bad', 85, 80, 'SIM aaaaaaaaaaaa has used 85 % of its quota'],
  )
  assert.is((await all.at('sim_quota_100', 'aaaaaaaaaaaa')).level, 'good')
})

rules('say how much of the disk is free, and that a certificate ends', async () => {
  await using folder = await tempDir()
  const dataDir = join(folder.path, 'data')
  await mkdir(dataDir)
  const all = box({}, dataDir)
  const free = await all.at('disk_low', 'disk')
  assert.is(free.value, all.fake.metrics.value('svc_alerts_disk_free_ratio'))
  assert.ok((free.value ?? 0) > 0 && (free.value ?? 2) <= 1)
  assert.equal([free.threshold, (await all.at('disk_almost_full', 'disk')).threshold], [0.1, 0.03])
  const levels = async (): Promise<readonly string[]> => [
    (await all.at('certificate_expiring', 'node')).level,
    (await all.at('certificate_expired', 'node')).level,
  ]
  for (const [days, expected] of [
    [15, ['good', 'good']],
    [13.9, ['bad', 'good']],
    [0.9, ['bad', 'bad']],
    [-1, ['bad', 'bad']],
  ] as const) {
    all.identity.certificateExpiresAtMs = all.fake.clock.nowMs() + days * DAY_MS
    await all.fake.clock.advance(60_000)
    assert.equal(await levels(), expected, `${days} days`)
  }
  assert.match(
    (await all.at('certificate_expired', 'node')).message,
    /A certificate ends soon: node has ended/,
  )
  all.readings.set('svc_esim_smdp_certificate_expires_seconds', gauge(86_400, { role: 'dptls' }))
  assert.is((await all.at('certificate_expiring', 'of the SM-DP+ (role="dptls")')).level, 'bad')
})

rules('say that the clock of the machine is not believed', async () => {
  const all = box()
  assert.is((await all.at('clock_skew', 'clock')).level, 'good')
  all.clock = { machineMs: 100_000, serviceMs: 0, doubt: 'it went ahead' }
  const { level, value, message } = await all.at('clock_skew', 'clock')
  assert.equal(
    [level, value, message],
    ['bad', 100, 'The clock is wrong: the clock of this machine is not believed: it went ahead'],
  )
})

rules('end at once what an outage ends with', async () => {
  const all = box()
  const looks = ['component_down', 'heartbeat_stale', 'disk_low', 'disk_almost_full', 'clock_skew', ...QUIET]
  for (const name of looks) assert.is((await all.look(name)).rule.clearMs, 0, name)
})

rules('are left out when they are disabled', async () => {
  const all = box({ disabled_rules: ['heartbeat_stale', 'disk_low', 'disk_almost_full'] })
  await all.look('component_down')
  await mustFail(() => all.look('heartbeat_stale'))
  await mustFail(() => all.look('disk_low'))
})

rules('of the configuration compare gauges, the growth of counters and the mean of histograms', async () => {
  const rule = { op: '>', threshold: 2, for: '0s', severity: 'info' } as const
  const all = box({
    rules: [
      { ...rule, name: 'g', metric: 'g', clear: 1 },
      { ...rule, name: 'c', metric: 'c', for: '1m', clear_for: '2m' },
      { ...rule, name: 'h', metric: 'h' },
    ],
  })
  const see = async (g: number, c: number, sum: number, count: number): Promise<readonly string[]> => {
    all.readings.set('g', gauge(g))
    all.readings.set('c', { kind: 'counter', samples: [{ labels: {}, value: c }] })
    all.readings.set('h', { kind: 'histogram', samples: [{ labels: {}, value: sum, count }] })
    const levels = [(await all.at('g', 'g')).level]
    await all.fake.clock.advance(10_000)
    return levels
  }
  const levelsOf = async (name: string): Promise<Finding> => await all.at(name, name)
  assert.equal(await see(3, 100, 0, 0), ['bad'])
  assert.equal(await see(2, 100, 0, 0), ['between'])
  assert.equal(await see(1, 121, 9, 3), ['good'])
  assert.equal(await see(Number.NaN, 200, 9, 3), ['unknown'])
  const look = await all.look('c')
  assert.equal([look.rule.forMs, look.rule.clearMs], [60_000, 120_000])
  assert.is(look.at('c').level, 'bad')
  assert.is((await levelsOf('h')).value, 3)
  // Another process: its counter begins again.
  await see(1, 5, 1, 1)
  assert.is((await levelsOf('c')).value, 0)
  await see(1, 55, 3, 2)
  assert.match((await levelsOf('c')).message, /^c grows by [\d.]+ a second \(> 2\)$/)
  assert.is((await levelsOf('h')).message, 'h is 2 on average (> 2)')
  await all.fake.clock.advance(70_000)
  assert.is((await levelsOf('c')).level, 'good')
})

rules('warn of a value to end at that lies on the wrong side', () => {
  const rule = { metric: 'g', threshold: 2, for: '0s', severity: 'info' } as const
  const { fake } = box({
    rules: [
      { ...rule, name: 'right', op: '>', clear: 1 },
      { ...rule, name: 'same', op: '<=', clear: 2 },
      { ...rule, name: 'wrong', op: '>=', clear: 3 },
      { ...rule, name: 'below', op: '<', clear: 1 },
      { ...rule, name: 'equal', op: '==', clear: 1 },
    ],
  })
  const warned = fake.logs.filter(({ level }) => level === 'warn').map(({ facts }) => Object.values(facts)[0])
  assert.equal(warned, ['wrong', 'below', 'equal'])
})

async function mustFail(work: () => Promise<unknown>): Promise<void> {
  const failed = await work().then(
    () => false,
    () => true,
  )
  assert.ok(failed)
}

rules('are each in the texts of every language beside the manifest, and in the documentation', () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const all = MANIFESTS.flatMap(({ folder, alerts = {} }) =>
    Object.keys(alerts).map((name) => ({ folder, name })),
  )
  assert.equal(new Set(all.map(({ name }) => name)), box().names())
  assert.ok(all.length >= 15, `${all.length} rules`)
  for (const { folder, name } of all) {
    for (const file of LANGUAGES.map((language) => `${folder}/texts/${language}.json`))
      for (const key of ['rule', 'do'])
        assert.ok(read(file).includes(`"alerts.${key}.${name}"`), `${file}: ${key} ${name}`)
    assert.ok(
      read('../docs/reference/alerts.md').includes(`\`${name}\``),
      `docs/reference/alerts.md: ${name}`,
    )
  }
})

rules('of a manifest are thresholds over metrics too, and stay while their plugin is exchanged', async () => {
  const all = box()
  const row = { metric: 'g', op: '>', threshold: 2, severity: 'warning', for: '1m' } as const
  all.plugins = [{ alerts: { hot: row } }]
  all.readings.set('g', gauge(3))
  const look = await all.look('hot')
  assert.equal([look.rule.severity, look.rule.forMs, look.at('g').level], ['warning', 60_000, 'bad'])
  all.plugins = []
  assert.equal([(await all.look('hot')).at('g').level, all.names().has('hot')], ['bad', true])
})

rules.run()
