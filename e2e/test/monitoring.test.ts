import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite, unusedPort } from '@steeple/testkit'
import { Ajv, type AnySchemaObject } from 'ajv'
import { parse } from 'yaml'
import { runsWith } from '../harness/compatibility/runs.ts'
import { insertBatch, type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { ROOT } from '../harness/launch.ts'
import { type Service, startService } from '../harness/service.ts'

const datasource = {
  type: 'object',
  required: ['type', 'uid'],
  properties: { type: { const: 'prometheus' } },
}
const grid = {
  type: 'object',
  required: ['h', 'w', 'x', 'y'],
  additionalProperties: false,
  properties: {
    h: { type: 'integer', minimum: 1, maximum: 40 },
    w: { type: 'integer', minimum: 1, maximum: 24 },
    x: { type: 'integer', minimum: 0, maximum: 23 },
    y: { type: 'integer', minimum: 0 },
  },
}
const target = {
  type: 'object',
  required: ['refId', 'expr', 'datasource'],
  properties: {
    refId: { type: 'string', pattern: '^[A-Z]$' },
    expr: { type: 'string', minLength: 3 },
    datasource,
  },
}
const panel = {
  type: 'object',
  required: ['id', 'type', 'title', 'gridPos'],
  properties: {
    id: { type: 'integer', minimum: 1 },
    type: { enum: ['row', 'stat', 'timeseries'] },
    title: { type: 'string', minLength: 1 },
    gridPos: grid,
    targets: { type: 'array', minItems: 1, items: target },
  },
  if: { properties: { type: { const: 'row' } } },
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  then: { required: ['collapsed', 'panels'] },
  else: {
    required: ['targets', 'datasource', 'fieldConfig', 'options'],
    properties: {
      datasource,
      fieldConfig: {
        type: 'object',
        required: ['defaults', 'overrides'],
        properties: { defaults: { type: 'object', required: ['unit'] }, overrides: { type: 'array' } },
      },
    },
  },
}

/** What Grafana's dashboard model asks of a file that is imported, as far as ours uses it. */
const DASHBOARD: AnySchemaObject = {
  type: 'object',
  required: ['uid', 'title', 'schemaVersion', 'version', 'time', 'templating', 'annotations', 'panels'],
  properties: {
    uid: { type: 'string', pattern: '^[a-z0-9-]{1,40}$' },
    title: { type: 'string', minLength: 1 },
    schemaVersion: { type: 'integer', minimum: 36 },
    version: { type: 'integer' },
    time: { type: 'object', required: ['from', 'to'] },
    annotations: { type: 'object', required: ['list'] },
    templating: {
      type: 'object',
      required: ['list'],
      properties: {
        list: { type: 'array', items: { type: 'object', required: ['name', 'type', 'query'] } },
      },
    },
    panels: { type: 'array', minItems: 1, items: panel },
  },
}

/** A dashboard, as far as it is looked at beyond the schema. */
interface Dashboard {
  readonly uid: string
  readonly templating: { readonly list: readonly { readonly name: string }[] }
  readonly panels: readonly Panel[]
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

/** The expressions of a dashboard as Grafana sends them, and what they are of. */
function expressionsOf({ panels }: Dashboard): readonly { readonly title: string; readonly expr: string }[] {
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
    })),
  )
}

/** The metrics that an expression names, histograms by their own name. */
function metricsIn(expression: string): ReadonlySet<string> {
  const bare = expression.replaceAll(/"[^"]*"|'[^']*'/g, '')
  const names = bare.match(/\b(svc|process|nodejs)_[a-z0-9_]+/g) ?? []
  return new Set(names.map((name) => name.replace(/_(bucket|count|sum)$/, '')))
}

/** What lies over one another or beyond the edge. */
function misplaced({ panels }: Dashboard): readonly string[] {
  const over = panels
    .filter(({ gridPos: { x, w } }) => x + w > 24)
    .map(({ title }) => `${title}: beyond the edge`)
  const pairs = panels.flatMap((one, at) =>
    panels
      .slice(at + 1)
      .filter((other) => overlap(one.gridPos, other.gridPos))
      .map((other) => `${one.title} lies over ${other.title}`),
  )
  return [...over, ...pairs]
}

function overlap(one: Panel['gridPos'], other: Panel['gridPos']): boolean {
  const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x
  const isBelow = one.y + one.h <= other.y || other.y + other.h <= one.y
  return !isBeside && !isBelow
}

/** Whether Debian's package `prometheus` is here. In CI it must be. */
function hasPrometheus(): boolean {
  const isHere = ['prometheus', 'promtool'].every((name) => spawnSync(name, ['--version']).status === 0)
  if (!isHere && process.env.CI === 'true')
    throw new Error('needs prometheus and promtool: apt install prometheus')
  return isHere
}

/** Runs `promtool <args>`; a problem that it finds is in `text`, and `code` is not 0. */
async function promtool(
  args: readonly string[],
  input = '',
): Promise<{ readonly code: number; readonly text: string }> {
  return await new Promise((resolve) => {
    const child = execFile('promtool', [...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), text: stdout + stderr }),
    )
    child.stdin?.end(input)
  })
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A Prometheus of its own, for one test. */
interface Prometheus {
  /** What an expression gives now. Throws with Prometheus' own words when it is none. */
  query(expression: string): Promise<readonly Sample[]>
  get(path: string): Promise<unknown>
  stop(): Promise<void>
}

interface QueryAnswer {
  readonly status: string
  readonly error?: string
  readonly data?: {
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[]
  }
}

/** Scrapes `target` (host:port) each second with the given rules; its files are in `folder`. */
async function startPrometheus(folder: string, target: string, rules: string): Promise<Prometheus> {
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'steeple', static_configs: [{ targets: [target] }] }],
  }
  const file = join(folder, 'prometheus.yml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config))
  const listen = `127.0.0.1:${await unusedPort()}`
  const flags = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'tsdb')}`,
    `--web.listen-address=${listen}`,
  ]
  runsWith('Prometheus', 'prometheus', '--version')
  const child: ChildProcess = spawn('prometheus', flags, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said = (said + chunk).slice(-10_000)
  })
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`prometheus ended: ${said}`)
    return await fetch(`http://${listen}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  const get = async (path: string): Promise<unknown> => await (await fetch(`http://${listen}${path}`)).json()
  return {
    get,
    query: async (expression) => {
      // Prometheus documents this shape.
      const answer = (await get(`/api/v1/query?query=${encodeURIComponent(expression)}`)) as QueryAnswer
      if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`)
      return (answer.data?.result ?? []).map(({ metric, value }) => ({
        labels: metric,
        value: Number(value[1]),
      }))
    },
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/*
 * docs/monitoring held to a service that works on the lab core, and to a real Prometheus (Debian's package) that scrapes it.
 */
const monitoring = suite('e2e/monitoring')
const FOLDER = join(ROOT, 'docs/monitoring')
const SIMS = 5

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

let folder: string
let lab: LabProcess
let service: Service
let prometheus: Prometheus | undefined
let imsis: readonly string[] = []
let hashes: readonly string[] = []
const dashboards: readonly Dashboard[] = readdirSync(FOLDER)
  .filter((name) => name.startsWith('dashboard-'))
  .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Dashboard)
const rules = (parse(readFileSync(join(FOLDER, 'alerts.yml'), 'utf8')) as RuleFile).groups.flatMap(
  (group) => group.rules,
)

monitoring.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-monitoring-'))
  const dataDir = join(folder, 'data')
  lab = await startLabCore(join(folder, 'lab-core'))
  const env = {
    ...lab.env,
    SVC_COLLECTOR_ENABLED: 'true',
    SVC_COLLECTOR_INTERVAL: '1s',
    SVC_FAIRUSE_ENABLED: 'true',
  }
  service = await startService({ dataDir, env })
  await attachPhones(dataDir)
  if (hasPrometheus())
    prometheus = await startPrometheus(folder, new URL(service.url).host, join(FOLDER, 'alerts.yml'))
})

monitoring.after(async () => {
  await prometheus?.stop()
  if (service !== undefined) await service.stop()
  if (lab !== undefined) await lab.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** SIMs in phones that are on, and one more that nobody has seen. */
async function attachPhones(dataDir: string): Promise<void> {
  const { body } = await service.request('POST', '/v1/sims', { body: { count: SIMS } })
  hashes = (body.sims as { imsi_sha256_12: string }[]).map((sim) => sim.imsi_sha256_12)
  await service.request('POST', '/v1/sims', { body: { count: 1 } })
  const states = async (holds: (sim: { state: string; provisioning: { status: string } }) => boolean) =>
    (await service.request('GET', '/v1/sims?limit=100')).body.sims.filter(holds).length
  await eventually(async () => (await states((sim) => sim.provisioning.status === 'synced')) === SIMS + 1)
  const cards = JSON.parse(await insertBatch(lab, dataDir, body.batch_id)) as { imsi: string }[]
  imsis = cards.map(({ imsi }) => imsi)
  await eventually(async () => (await states((sim) => sim.state === 'in-use')) === SIMS)
}

async function scraped(): Promise<string> {
  const { status, body } = await service.request('GET', '/metrics', { token: undefined })
  assert.is(status, 200)
  return body
}

/** Names of the metrics that the service has. */
async function known(): Promise<ReadonlySet<string>> {
  return new Set([...(await scraped()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
}

monitoring('has metrics to which promtool has no objection', async () => {
  if (prometheus === undefined) return assert.not(hasPrometheus())
  assert.equal(await promtool(['check', 'metrics'], await scraped()), { code: 0, text: '' })
})

monitoring('names no subscriber in a label', async () => {
  const text = await scraped()
  assert.is(imsis.length, SIMS)
  for (const identity of [...imsis, ...hashes]) assert.not.ok(text.includes(identity))
  const values = [...text.matchAll(/[a-z_]+="([^"]*)"/g)].map(([, value = '']) => value)
  assert.ok(values.length > 100)
  for (const value of values) assert.not.match(value, /\d{14}|^[0-9a-f]{12}$|\d+\.\d+\.\d+\.\d+/)
})

monitoring('is scraped by a real Prometheus, which has what the API says', async () => {
  if (prometheus === undefined) return assert.not(hasPrometheus())
  const { query } = prometheus
  const amount = async (expression: string): Promise<number | undefined> =>
    (await query(expression))[0]?.value
  await eventually(async () => (await amount('up{job="steeple"}')) === 1)
  await eventually(async () => (await amount('svc_sim_state{state="in-use"}')) === SIMS)
  assert.is(await amount('svc_sim_state{state="issued"}'), 1)
  const states = await query('svc_sim_state')
  assert.is(
    states.reduce((sum, { value }) => sum + value, 0),
    SIMS + 1,
  )
  await eventually(async () => (await amount('sum by (plmn) (svc_attach_total)')) === SIMS)
  // Those who look for attached phones and those who look for sessions do so on their own.
  const listed = async (): Promise<number> =>
    (await service.request('GET', '/v1/sessions?limit=500')).body.sessions.length
  await eventually(async () => (await listed()) >= SIMS)
  await eventually(async () => (await amount('sum(svc_sessions_active)')) === (await listed()))
  const [active] = await query('svc_sessions_active')
  assert.equal(Object.keys(active?.labels ?? {}).toSorted(), ['__name__', 'apn', 'instance', 'job', 'plmn'])
  const [attaches] = await query('svc_attach_total')
  assert.equal(Object.keys(attaches?.labels ?? {}).toSorted(), ['__name__', 'instance', 'job', 'plmn'])
  assert.ok((await amount('svc_collectors_lag_seconds')) !== undefined)
  await labPhones(lab.urls.control, 'POST', '/phones/all/detach')
  await eventually(async () => (await amount('sum(svc_sessions_active)')) === 0)
  assert.is(await amount('svc_sim_state{state="in-use"}'), SIMS)
})

monitoring('has dashboards that Grafana can load', () => {
  assert.is(dashboards.length, 3)
  const validate = new Ajv({ allErrors: true, strict: false }).compile(DASHBOARD)
  for (const dashboard of dashboards) {
    assert.ok(validate(dashboard), JSON.stringify(validate.errors))
    assert.equal(misplaced(dashboard), [])
    const ids = dashboard.panels.map(({ id }) => id)
    assert.is(new Set(ids).size, ids.length)
    for (const { title, targets = [] } of dashboard.panels)
      assert.is(new Set(targets.map(({ refId }) => refId)).size, targets.length, title)
    const variables = new Set(dashboard.templating.list.map(({ name }) => name))
    const used = JSON.stringify(dashboard.panels).match(/\$\{?[a-z]+/g) ?? []
    for (const name of used) assert.ok(variables.has(name.replace(/\$\{?/, '')), name)
  }
  assert.is(new Set(dashboards.map(({ uid }) => uid)).size, dashboards.length)
})

monitoring('names metrics in dashboards and alerts that the service has', async () => {
  const names = await known()
  // Of a core that is not chosen here, and of Prometheus itself.
  const others = new Set(['svc_driver_core_b_daemon_up'])
  for (const { title, expr } of dashboards.flatMap(expressionsOf)) {
    const missing = [...metricsIn(expr)].filter((name) => !names.has(name))
    assert.equal(missing, [], title)
  }
  for (const { alert, expr } of rules) {
    const missing = [...metricsIn(expr)].filter((name) => !names.has(name) && !others.has(name))
    assert.equal(missing, [], alert)
  }
})

monitoring(
  'has expressions that Prometheus answers, and none that stays empty where something happens',
  async () => {
    if (prometheus === undefined) return assert.not(hasPrometheus())
    const { query } = prometheus
    await somethingHappens()
    const expressions = dashboards.flatMap(expressionsOf)
    assert.ok(expressions.length > 60)
    for (const { title, expr } of expressions) {
      // A mistake in an expression throws.
      await query(expr)
      if (MAY_BE_EMPTY.some((begin) => `${title}: ${expr}`.startsWith(begin))) continue
      await eventually(async () => (await query(expr)).length > 0).catch(() =>
        assert.unreachable(`${title}: ${expr}`),
      )
    }
    const titles = expressions.map(({ title, expr }) => `${title}: ${expr}`)
    for (const begin of MAY_BE_EMPTY)
      assert.ok(
        titles.some((title) => title.startsWith(begin)),
        begin,
      )
  },
)

/** One of what panels count: a backup, a phone that is cut off, a quota that is used up. */
async function somethingHappens(): Promise<void> {
  await labPhones(lab.urls.control, 'POST', '/phones/all/attach')
  const [cut = '', used = ''] = hashes
  const attached = async (hash: string): Promise<boolean> =>
    (await service.request('GET', `/v1/sims/${hash}`)).body.attached === true
  for (const hash of [cut, used]) await eventually(() => attached(hash))
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await service.request(method, path, body === undefined ? {} : { body })
    assert.is(Math.floor(answer.status / 100), 2, `${path}: ${JSON.stringify(answer.body)}`)
  }
  await ask('GET', '/v1/backup')
  await ask('POST', `/v1/sims/${cut}/suspend`, {})
  await ask('POST', `/v1/sims/${used}/quota`, { quota_bytes: 1_000, action: 'suspend' })
  const report = { report_id: 'one', up_bytes: 2_000, down_bytes: 2_000 }
  await ask('POST', `/v1/sims/${used}/usage`, report)
}

/** What this service has not: its alerts and its schedule of backups are off, no octets are counted, nothing fails, no phone downloads. */
const MAY_BE_EMPTY = [
  'Alerts that fire',
  'Age of the newest backup',
  'Room on the disk',
  'Alerts that begin and end',
  'Messages to receivers: sum by (result)',
  'Backups: sum by (to) (increase(svc_backup_failures_total',
  'Heartbeats',
  'Downloads of profiles',
  "Changes of the core's configuration",
  'Radio processes: sum by (why)',
  'Downlink by source',
  'Uplink by source',
  'Octets of nobody',
  'Polls that failed',
  'Reconcilers: keys that wait',
]

monitoring(
  'has alerts that promtool and Prometheus take, each tried, and none that cries at a box that is well',
  async () => {
    if (prometheus === undefined) return assert.not(hasPrometheus())
    const { get, query } = prometheus
    const checked = await promtool(['check', 'rules', join(FOLDER, 'alerts.yml')])
    assert.is(checked.code, 0, checked.text)
    const files = ['alerts.test.yml', 'alerts-days.test.yml'].map((name) => join(FOLDER, name))
    const tried = await promtool(['test', 'rules', ...files])
    assert.is(tried.code, 0, tried.text)
    assert.is((await promtool(['check', 'config', join(FOLDER, 'prometheus.yml')])).code, 0)
    const tests = files.map((file) => readFileSync(file, 'utf8')).join('')
    for (const { alert } of rules) {
      const times = [...tests.matchAll(new RegExp(`alertname: ${alert}\\b`, 'g'))].length
      assert.ok(times >= 2, `${alert} is not tried both ways`)
    }
    const loaded = JSON.stringify(await get('/api/v1/rules'))
    for (const { alert } of rules) assert.match(loaded, `"name":"${alert}"`)
    assert.not.match(loaded, '"health":"err"')
    await eventually(async () => (await query('ALERTS')).length === 0).catch(async () =>
      assert.equal(await query('ALERTS'), []),
    )
  },
)

monitoring.run()
