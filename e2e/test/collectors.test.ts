import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { assert, eventually, rounds, suite } from '@steeple/testkit'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Service, startService } from '../harness/service.ts'

/** A subscriber of the collectors of these tests: nobody's IMSI has these hashes. */
const JOURNAL_IMSI = '00000000aaaa'
const METER_IMSI = '00000000bbbb'

const COMMON = (imsi: string, file: string): string => `
import { readFileSync } from 'node:fs'
const text = () => readFileSync(${JSON.stringify(file)}, 'utf8')
const sighting = (nowMs) => ({
  imsi: '${imsi}', apn: 'internet', plmn: '999-99', address: undefined, prefix: undefined, technology: 'lte',
  cell: undefined, state: 'active', reference: 'only', startedAtMs: undefined, seenAtMs: nowMs,
})
const volume = (nowMs, up, down, count) => ({
  key: { by: 'session', reference: 'only' }, upBytes: up, downBytes: down, fromMs: nowMs, toMs: nowMs, count, isIncomplete: false,
})
const plugin = (source, poll) => ({
  setup: async (context) => ({
    services: new Map([['collector.' + source, { source, poll: async (position, signal) => {
      signal.throwIfAborted()
      const nowMs = context.clock.nowMs()
      return { sightings: [sighting(nowMs)], isWhole: true, lost: undefined, ...poll(nowMs, position) }
    } }]]),
  }),
})
`

/** Gives the lines \`up down\` of a file that grows as deltas, from the line that its position names. */
function journalSource(file: string, version: string): string {
  return `${COMMON(JOURNAL_IMSI, file)}
// ${version}
const exported = plugin('journal', (nowMs, position) => {
  const lines = text().split('\\n').slice(0, -1)
  const rows = lines.slice(Number(position ?? 0)).map((line) => line.split(' ').map(Number))
  const volumes = rows.map(([up, down]) => volume(nowMs, up, down, 'delta'))
  return { volumes, position: String(lines.length) }
})
export { exported as plugin }
`
}

/** Gives what a counter in a file reads: \`generation up down\`. */
function meterSource(file: string, version: string): string {
  return `${COMMON(METER_IMSI, file)}
// ${version}
const exported = plugin('meter', (nowMs) => {
  const [generation, up, down] = text().split(' ')
  return { volumes: [volume(nowMs, Number(up), Number(down), { counter: 'meter', generation })], position: undefined }
})
export { exported as plugin }
`
}

/*
 * Two collectors of a third party, one of deltas and one of totals, move octets all the time, while they, whoever polls them
 * and whoever counts are unloaded, reloaded, upgraded and killed. In the end the service has counted what was moved.
 */
const collectors = suite('e2e/collectors', { limitMs: 900_000 })
const ROUNDS = rounds(24)
const ADMIN = 'collectors-test-admin-token-0123456789'
const WRITE_EVERY_MS = 3
const INTERVAL_MS = 50

interface Truth {
  up: number
  down: number
}

/** Both sources, written all the time. */
interface Sources {
  readonly journal: Truth
  readonly meter: Truth
  stop(): Promise<void>
}

/** Adds octets to both until it is stopped. */
function startSources(journalFile: string, meterFile: string): Sources {
  const journal: Truth = { up: 0, down: 0 }
  const meter: Truth = { up: 0, down: 0 }
  let isOver = false
  const step = (): void => {
    const [up, down] = [1 + (journal.up % 1_499), 1 + (journal.down % 997)]
    journal.up += up
    journal.down += down
    appendFileSync(journalFile, `${up} ${down}\n`)
    meter.up += down
    meter.down += up
    // As a whole or not at all.
    writeFileSync(`${meterFile}.new`, `first ${meter.up} ${meter.down}`)
    renameSync(`${meterFile}.new`, meterFile)
  }
  writeFileSync(journalFile, '')
  step()
  const run = async (): Promise<void> => {
    while (!isOver) {
      step()
      await pause(WRITE_EVERY_MS)
    }
  }
  const running = run()
  return {
    journal,
    meter,
    stop: async () => {
      isOver = true
      await running
    },
  }
}

collectors(
  `loses and doubles no octet in ${ROUNDS} rounds of unload, upgrade, reload and kill -9`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'steeple-collectors-'))
    const box: Box = {
      dataDir: join(folder, 'data'),
      journal: join(folder, 'journal'),
      meter: join(folder, 'meter'),
    }
    const sources = startSources(box.journal, box.meter)
    let service = await start(box.dataDir)
    try {
      await upgrade(service, box, 0)
      for (let round = 0; round < ROUNDS; round += 1) {
        await pause(20 + ((round * 37) % 150))
        service = await disturb(service, box, round)
      }
      await sources.stop()
      const { journal, meter } = sources
      const truth = {
        [JOURNAL_IMSI]: [journal.up, journal.down],
        [METER_IMSI]: [meter.up, meter.down],
      }
      await eventually(async () => isDeepStrictEqual(await countedBy(service), truth)).catch(() => undefined)
      assert.equal(await countedBy(service), truth)
      // Nothing comes after.
      await pause(20 * INTERVAL_MS)
      assert.equal(await countedBy(service), truth)
      const octets = Object.values(truth).flat()
      process.stdout.write(`\n# ${octets.reduce((sum, each) => sum + each)} octets in ${ROUNDS} rounds\n`)
    } finally {
      await sources.stop()
      await service.kill()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

/** Where the service and its sources are. */
interface Box {
  readonly dataDir: string
  readonly journal: string
  readonly meter: string
}

/** Another version of both collectors, in the place of the one before. */
async function upgrade(service: Service, { dataDir, journal, meter }: Box, patch: number): Promise<void> {
  const version = `1.0.${patch}`
  const manifest = (id: string) => ({ kind: 'collector', provides: [`collector.${id}`] })
  installVersion(dataDir, {
    id: 'journal',
    version,
    code: journalSource(journal, version),
    manifest: manifest('journal'),
  })
  installVersion(dataDir, {
    id: 'meter',
    version,
    code: meterSource(meter, version),
    manifest: manifest('meter'),
  })
  await change(service, 'journal', 'load')
  await change(service, 'meter', 'load')
}

/** One change while octets move; gives the service that runs then. */
async function disturb(service: Service, box: Box, round: number): Promise<Service> {
  const one = round % 4 < 2 ? 'journal' : 'meter'
  const way = WAYS[round % WAYS.length] ?? 'kill'
  if (way === 'kill') {
    await service.kill()
    return await start(box.dataDir)
  }
  if (way === 'upgrade') await upgrade(service, box, round + 1)
  else if (way === 'unload') {
    await change(service, one, 'unload')
    await pause(INTERVAL_MS)
    await change(service, one, 'load')
  } else await change(service, way, 'reload')
  return service
}

const WAYS = ['unload', 'collectors', 'upgrade', 'sessions', 'kill', 'unload'] as const

interface PluginRecord {
  readonly name: string
  readonly state: string
}

function start(dataDir: string): Promise<Service> {
  const env = {
    SVC_HSS_DRIVER: 'none',
    SVC_COLLECTOR_ENABLED: 'true',
    SVC_COLLECTOR_INTERVAL: `${INTERVAL_MS}ms`,
  }
  return startService({ dataDir, adminToken: ADMIN, env })
}

/** A service answers before what is installed beside it is loaded. */
async function change(service: Service, plugin: string, verb: 'load' | 'unload' | 'reload'): Promise<void> {
  await eventually(async () => {
    const { plugins } = (await service.request('GET', '/v1/plugins?limit=500')).body
    return !plugins.some(({ name, state }: PluginRecord) => name === plugin && state === 'loading')
  })
  const { status, body } = await service.request('POST', `/v1/plugins/${plugin}/${verb}`, { body: {} })
  assert.is(status, 200, `${verb} ${plugin}: ${JSON.stringify(body)}`)
}

/** Octets up and down of the sessions, by subscriber. */
async function countedBy(service: Service): Promise<Readonly<Record<string, readonly number[]>>> {
  const { body } = await service.request('GET', '/v1/sessions?limit=100')
  type Row = { readonly imsi_sha256_12: string; readonly up_bytes: number; readonly down_bytes: number }
  return Object.fromEntries(
    (body.sessions as Row[]).map((row) => [row.imsi_sha256_12, [row.up_bytes, row.down_bytes]]),
  )
}

collectors.run()
