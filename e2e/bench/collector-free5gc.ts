import { fork } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { plugin as amf } from '@steeple/collector-amf'
import { plugin as cdr } from '@steeple/collector-cdr'
import { type Collection, type Collector, type Context, collectorRef } from '@steeple/contracts'
import { plugin as driver } from '@steeple/driver-core-b'
import { fakeContext, memoryDb, tempDir } from '@steeple/testkit'
import { type Finding, median } from './measure.ts'

const PHONES = 10_000
const LIMIT_MS = 1_000
const IDLE_LIMIT = 0.5
const INTERVAL_MS = 15_000
const PASSES = 5

const SERVER = fileURLToPath(new URL('./oam-pages.ts', import.meta.url))
/** A file of one record, as a real CHF wrote it, of this subscriber. */
const RECORDED = fileURLToPath(
  new URL('../../packages/collector-cdr/test/fixtures/2update.cdr', import.meta.url),
)
const RECORDED_IMSI = '999990000000001'

/** Processor time of looks at a free5GC core whose AMF and SMF another process serves, and of reading charging records. */
export async function benchCollectorFree5gc(): Promise<readonly Finding[]> {
  const looks = await amfPasses(PHONES, PASSES + 4)
  const idle = (100 * median((await amfPasses(0, 10 * PASSES)).slice(1))) / INTERVAL_MS
  const { changed, unchanged, none } = await cdrPasses()
  return [
    bounded(
      'look of collector-amf at 10,000 phones that it does not know yet',
      Math.max(...looks.slice(0, 4)),
    ),
    bounded('look of collector-amf at 10,000 phones that it knows', median(looks.slice(4))),
    percent('collector-amf with nothing attached, every 15 s', idle),
    bounded('poll of collector-cdr with 10,000 files that have changed', median(changed)),
    bounded('poll of collector-cdr with 10,000 files that have not', median(unchanged)),
    percent('collector-cdr with no files, every 15 s', (100 * median(none)) / INTERVAL_MS),
  ]
}

function bounded(name: string, value: number): Finding {
  return {
    name: `${name}, processor time`,
    value,
    unit: 'ms',
    target: `≤ ${LIMIT_MS} ms`,
    isMet: value <= LIMIT_MS,
  }
}

function percent(name: string, value: number): Finding {
  return { name, value, unit: '% of a core', target: `≤ ${IDLE_LIMIT} %`, isMet: value <= IDLE_LIMIT }
}

async function timed(work: () => Promise<Collection>): Promise<readonly [Collection, number]> {
  const before = process.cpuUsage()
  const collection = await work()
  const { user, system } = process.cpuUsage(before)
  return [collection, (user + system) / 1_000]
}

/** Processor time of each look through the driver, ms: the first ones learn the addresses. */
async function amfPasses(phones: number, count: number): Promise<readonly number[]> {
  const server = fork(SERVER, [String(phones)], { execArgv: ['--no-warnings'] })
  const [port] = await once(server, 'message')
  const url = `http://127.0.0.1:${port}`
  const fake = fakeContext<unknown>({
    config: {},
    id: 'driver-core-b',
    db: memoryDb(),
    settings: { core: 'core_b', core_b: { amf_oam_url: url, smf_oam_url: url, nrf_url: url } },
  })
  const context = fake.context as Context // the plugins have no schema of their own here
  const { services = new Map() } = await driver.setup(context)
  for (const [id, service] of services) fake.services.set(id, service)
  const collecting = await amf.setup({ ...context, plugin: { id: 'collector-amf', version: '0.0.0' } })
  const collector = collecting.services?.get(collectorRef('collector-amf').id) as Collector // the plugin provides it
  const times: number[] = []
  for (let pass = 0; pass < count; pass += 1) {
    await fake.clock.advance(INTERVAL_MS)
    const [{ sightings }, ms] = await timed(() => collector.poll(undefined, AbortSignal.timeout(60_000)))
    if (sightings.length !== phones) throw new Error(`${sightings.length} sessions of ${phones} are seen`)
    times.push(ms)
  }
  await fake.dispose()
  server.disconnect()
  return times
}

/** Processor time of polls over as many files, ms. */
async function cdrPasses(): Promise<Record<'changed' | 'unchanged' | 'none', readonly number[]>> {
  await using dir = await tempDir()
  const fake = fakeContext<unknown>({
    config: {},
    id: 'collector-cdr',
    settings: { core: 'core_b', core_b: { cdr_dir: dir.path } },
  })
  const { services } = await cdr.setup(fake.context as Context)
  const collector = services?.get(collectorRef('collector-cdr').id) as Collector // the plugin provides it
  const recorded = readFileSync(RECORDED)
  const at = recorded.indexOf(RECORDED_IMSI)
  let position: string | undefined
  const poll = async (): Promise<readonly [number, number]> => {
    const [collection, ms] = await timed(() => collector.poll(position, AbortSignal.timeout(60_000)))
    position = collection.position ?? position
    return [collection.volumes.length, ms]
  }
  const write = (round: number): void => {
    for (let n = 0; n < PHONES; n += 1) {
      const imsi = `99970${String(n).padStart(10, '0')}`
      const bytes = Buffer.from(recorded)
      bytes.write(imsi, at, 'latin1')
      // The record's number of this run: another record each time.
      bytes[bytes.indexOf(Buffer.from([0x8b, 0x01])) + 2] = round
      writeFileSync(join(dir.path, `chf-${hash('sha256', `imsi-${imsi}`)}.cdr`), bytes)
    }
  }
  const found = { changed: [] as number[], unchanged: [] as number[], none: [] as number[] }
  for (let round = 0; round < 20; round += 1) found.none.push((await poll())[1])
  for (let round = 1; round <= PASSES; round += 1) {
    write(round)
    const [count, ms] = await poll()
    if (count !== PHONES) throw new Error(`${count} volumes of ${PHONES} are counted`)
    found.changed.push(ms)
    // Once more, until nothing may have changed in the same tick.
    await poll()
    found.unchanged.push((await poll())[1])
  }
  await fake.dispose()
  return found
}
