import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { plugin } from '@steeple/collector-mme'
import { type Collector, collectorRef } from '@steeple/contracts'
import { fakeContext } from '@steeple/testkit'
import { type Finding, median } from './measure.ts'

const PHONES = 10_000
const LIMIT_MS = 1_000
const IDLE_LIMIT = 0.5
const INTERVAL_MS = 15_000
const PASSES = 5

const SERVER = fileURLToPath(new URL('./info-pages.ts', import.meta.url))

/** Processor time of a look at a core whose lists another process serves, and of many looks at an empty one. */
export async function benchCollectorMme(): Promise<readonly Finding[]> {
  const full = await passes(PHONES, PASSES)
  const empty = await passes(0, 20 * PASSES)
  const idle = (100 * median(empty)) / INTERVAL_MS
  return [
    {
      name: 'look of collector-mme at 10,000 attached phones, processor time',
      value: median(full),
      unit: 'ms',
      beside: { what: `the longest of ${PASSES}`, value: Math.max(...full) },
      target: `≤ ${LIMIT_MS} ms`,
      isMet: Math.max(...full) <= LIMIT_MS,
    },
    {
      name: 'collector-mme with nothing attached, every 15 s',
      value: idle,
      unit: '% of a core',
      target: `≤ ${IDLE_LIMIT} %`,
      isMet: idle <= IDLE_LIMIT,
    },
  ]
}

/** Processor time of each look, ms; the first one, which compiles, is not among them. */
async function passes(phones: number, count: number): Promise<readonly number[]> {
  const server = fork(SERVER, [String(phones)], { execArgv: ['--no-warnings'] })
  const [port] = await once(server, 'message')
  const url = `http://127.0.0.1:${port}`
  let passedMs = 0
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() + passedMs }
  const fake = fakeContext({
    config: {},
    id: 'collector-mme',
    settings: { core: 'another', collector: { mme_url: url, smf_url: url } },
  })
  const { services } = await plugin.setup({ ...fake.context, settings: fake.context.settings, clock })
  const collector = services?.get(collectorRef('collector-mme').id) as Collector // the plugin provides it
  const times: number[] = []
  for (let pass = 0; pass <= count; pass += 1) {
    passedMs += 120_000
    const before = process.cpuUsage()
    const { sightings } = await collector.poll(undefined, AbortSignal.timeout(60_000))
    const { user, system } = process.cpuUsage(before)
    if (sightings.length !== phones) throw new Error(`${sightings.length} sessions of ${phones} are seen`)
    if (pass > 0) times.push((user + system) / 1_000)
  }
  await fake.dispose()
  server.disconnect()
  return times
}
