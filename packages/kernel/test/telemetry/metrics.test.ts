import type { Log } from '@steeple/contracts'
import { suite } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import {
  createMetricsBoard,
  isPersonal,
  type MetricsBoard,
  observeProcess,
} from '../../src/telemetry/metrics.ts'

interface Line {
  readonly level: string
  readonly facts: object
  readonly message: string
}

function createTestLog(lines: Line[]): Log {
  const at = (level: string) => (facts: object, message: string) => void lines.push({ level, facts, message })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

const metrics = suite('kernel/metrics')

/** What the manifests of these tests declare. */
const DECLARED = [
  'svc_attach_total',
  'svc_fair_use_suspensions_total',
  'svc_kernel_things',
  'svc_ran_start_seconds',
  'svc_sessions',
  'svc_sessions_active',
  'svc_sim_state',
  'svc_sims_seen_total',
  'svc_sims_total',
]

function board(): { made: MetricsBoard; lines: Line[] } {
  const lines: Line[] = []
  return { made: createMetricsBoard(createTestLog(lines)), lines }
}

metrics('shows the metrics of a plugin from its publication to its withdrawal', async () => {
  const { made } = board()
  const own = made.open('fair-use', DECLARED)
  const counter = own.metrics.counter('svc_fair_use_suspensions_total', 'SIMs suspended', ['why'])
  counter.inc({ why: 'quota' })
  assert.not.match(await made.text(), 'fair_use')
  const before = made.revision
  own.publish()
  const published = made.revision
  assert.ok(published > before)
  assert.match(await made.text(), 'svc_fair_use_suspensions_total{why="quota"} 1')
  own.withdraw()
  assert.ok(made.revision > published)
  assert.not.match(await made.text(), 'fair_use')
})

metrics('gives metrics by name as they stand, a histogram without its buckets', async () => {
  const { made } = board()
  const own = made.open('ran', DECLARED)
  own.metrics.histogram('svc_ran_start_seconds', 'Start', [1, 5], ['mode']).observe(2, { mode: 'lte' })
  made.kernel.gauge('svc_kernel_things', 'Things').set(7)
  made.kernel.counter('svc_kernel_done_total', 'Done').inc({}, 3)
  const names = ['svc_ran_start_seconds', 'svc_kernel_things', 'svc_kernel_done_total', 'nobody']
  assert.not.ok((await made.read(names)).has('svc_ran_start_seconds'), 'before it is published')
  own.publish()
  assert.equal(
    [...(await made.read(names))],
    [
      [
        'svc_ran_start_seconds',
        { kind: 'histogram', samples: [{ labels: { mode: 'lte' }, value: 2, count: 1 }] },
      ],
      ['svc_kernel_things', { kind: 'gauge', samples: [{ labels: {}, value: 7 }] }],
      ['svc_kernel_done_total', { kind: 'counter', samples: [{ labels: {}, value: 3 }] }],
    ],
  )
})

metrics('puts the next copy in place of the one before, whichever leaves first', async () => {
  const { made } = board()
  const before = made.open('sims', DECLARED)
  before.metrics.gauge('svc_sims_total', 'SIMs').set(1)
  before.publish()
  const after = made.open('sims', DECLARED)
  after.metrics.gauge('svc_sims_total', 'SIMs').set(2)
  after.publish()
  before.withdraw()
  const text = await made.text()
  assert.match(text, 'svc_sims_total 2')
  assert.is(text.match(/^svc_sims_total /gm)?.length, 1)
})

metrics('keeps histograms with their buckets', async () => {
  const { made } = board()
  const own = made.open('ran', DECLARED)
  own.metrics.histogram('svc_ran_start_seconds', 'Start', [1, 5], ['mode']).observe(2, { mode: 'lte' })
  own.publish()
  const text = await made.text()
  assert.match(text, 'svc_ran_start_seconds_bucket{le="1",mode="lte"} 0')
  assert.match(text, 'svc_ran_start_seconds_bucket{le="5",mode="lte"} 1')
})

metrics('lets a plugin register its own names and those of the specification only', () => {
  const { made } = board()
  const own = made.open('sessions', DECLARED).metrics
  own.gauge('svc_sessions_active', 'Active sessions', ['apn', 'plmn'])
  own.gauge('svc_sim_state', 'SIMs by state', ['state'])
  own.counter('svc_attach_total', 'Attaches', ['plmn'])
  for (const name of ['svc_sims_total', 'sessions_total', 'svc_sessions', 'svc_sessions_Total']) {
    assert.throws(() => own.counter(name, 'x'), /refused: the name must begin with svc_sessions_/)
  }
})

metrics('refuses labels that could only name people', () => {
  const { made } = board()
  const own = made.open('sims', DECLARED).metrics
  for (const label of [
    'imsi',
    'imsi_sha256_12',
    'msisdn',
    'ue',
    'user',
    'subscriber_id',
    'iccid',
    'token_id',
  ]) {
    assert.throws(() => own.counter(`svc_sims_${label}_total`, 'x', [label]), /refused/)
  }
})

metrics('drops updates whose label holds a credential, or is no text at all', async () => {
  const { made } = board()
  const { metrics: own, publish } = made.open('sims', DECLARED)
  const seen = own.counter('svc_sims_seen_total', 'Seen', ['where'])
  publish()
  seen.inc({ where: 'here' })
  for (const where of [`svc_${'aB3'.repeat(15)}`, 'http://u:pa55word@h/', 'imsi-00101012345'])
    seen.inc({ where })
  let asked = 0
  // What is a text when it is judged need be none when it is shown.
  const odd: object = {
    toString: () => {
      asked += 1
      return asked > 1 ? '00101012345' : 'well'
    },
  }
  seen.inc({ where: odd as never }) // a plugin in JavaScript
  const text = await made.text()
  assert.match(text, /svc_sims_seen_total\{where="here"\} 1/)
  assert.is(text.match(/^svc_sims_seen_total\{/gm)?.length, 1, text)
})

metrics('drops updates whose label looks like an identifier, without printing it anywhere', async () => {
  const { made, lines } = board()
  const own = made.open('sims', DECLARED)
  own.publish()
  const counter = own.metrics.counter('svc_sims_seen_total', 'x', ['apn'])
  for (const apn of ['999990000000001', 'a3f5c0d1e2b4', 'internet']) counter.inc({ apn })
  const text = await made.text()
  assert.match(text, 'svc_sims_seen_total{apn="internet"} 1')
  assert.match(text, 'svc_kernel_metric_refused_total{plugin="sims"} 2')
  const printed = text + JSON.stringify(lines)
  assert.not.match(printed, '999990000000001')
  assert.not.match(printed, 'a3f5c0d1e2b4')
})

metrics('sees an IMSI or a hash in any label value', () => {
  const digit = fc.constantFrom(...'0123456789')
  const hex = fc.constantFrom(...'0123456789abcdef')
  const around = fc.constantFrom('', 'imsi-', '-x', ' ')
  const imsi = fc.string({ unit: digit, minLength: 14, maxLength: 15 })
  const hash = fc.string({ unit: hex, minLength: 12, maxLength: 64 })
  fc.assert(
    fc.property(around, fc.oneof(imsi, hash), around, (before, value, after) =>
      isPersonal(before + value + after),
    ),
  )
  for (const value of ['internet', '999-99', 'in-use', 'core_a', '20260101', 'n78'])
    assert.not(isPersonal(value))
})

metrics('refuses a copy that takes a specified name of another plugin', () => {
  const { made } = board()
  const one = made.open('sims', DECLARED)
  one.metrics.gauge('svc_sim_state', 'x')
  one.publish()
  const two = made.open('other', DECLARED)
  two.metrics.gauge('svc_sim_state', 'x')
  assert.throws(() => two.publish(), /svc_sim_state of other belongs to sims/)
})

metrics('gives a text that names each metric once, with help and type', async () => {
  const { made } = board()
  const stop = observeProcess(made.kernel)
  made.kernel.observed('svc_kernel_things', 'Things', ['kind'], (set) => {
    set(1, { kind: 'a' })
    set(1, { kind: 'b' })
    set(2, { kind: 'b' })
  })
  const text = await made.text()
  stop()
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name)
  assert.is(new Set(types).size, types.length)
  for (const name of [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'nodejs_heap_size_used_bytes',
    'nodejs_eventloop_utilization_ratio',
    'svc_kernel_things',
  ]) {
    assert.ok(types.includes(name), name)
  }
  assert.match(text, 'svc_kernel_things{kind="b"} 2')
})

metrics('refuses a metric that the manifest does not declare', () => {
  const { metrics: own } = createMetricsBoard(createTestLog([])).open('sims', ['svc_sims_total'])
  own.counter('svc_sims_total', 'declared')
  assert.throws(
    () => own.counter('svc_sims_other_total', 'not declared'),
    /svc_sims_other_total of sims is refused: steeple.metrics of its package.json does not name it/,
  )
})

metrics.run()
