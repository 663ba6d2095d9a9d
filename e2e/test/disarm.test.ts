import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { assert, enterOwnMounts, eventually, suite, rounds as timesAsOften } from '@steeple/testkit'
import { openInspector } from '../harness/inspector.ts'
import { ROOT } from '../harness/launch.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { type Air, type Manners, nowMs, openAir, type Seen } from '../harness/radio/air.ts'
import { type Box, openBox } from '../harness/radio/box.ts'
import { memoryDisk, type SmallDisk } from '../harness/small-disk.ts'

/** The request that has to take the radio off the air, and its answer. Times are CLOCK_MONOTONIC, ms. */
interface Request {
  readonly askedMs: number
  readonly answeredMs: number
  /** What the answer says of the transmitter; undefined when it is about something else. */
  readonly says: 'off' | 'unconfirmed' | undefined
  /** For the table of the results. */
  readonly answer: string
  /** What was on air up to here, when it goes on air again afterwards. */
  readonly seen?: Seen
}

/** What keeps the service busy while the request comes. */
interface Load {
  readonly name: string
  /** Whether each round needs an empty store. */
  readonly isFresh?: boolean
  /** The service is on air. Sends the request under the load, and leaves all as it was. */
  round(box: Box, disk: SmallDisk): Promise<Request>
}

const LOCK_MS = 2_500
const BLOCK_MS = 3_000
const IMPORT_ROWS = 50_000
const FLOOD = 1_200
/** Folders whose service has it. */
const installed = new Set<string>()

const some = (mostMs: number): Promise<void> => wait(Math.random() * mostMs)

/** The loads of the issue; the last two are requests of their own. */
const LOADS: readonly Load[] = [
  { name: 'quiet', round: askDisarm },
  { name: 'store locked by another process', round: locked },
  { name: 'import of 50,000', isFresh: true, round: importing },
  { name: 'SIGHUP with a slow upload', round: (box) => exchanging(box, hangUp) },
  { name: 'reload with a slow upload', round: (box) => exchanging(box, () => change(box, 'reload')) },
  { name: 'unload with a slow upload', round: unloading },
  { name: 'upgrade with a slow upload', round: upgrading },
  { name: 'full disk', round: full },
  { name: 'pipelining flood', round: flooded },
  { name: 'event loop blocked for 3 s', round: blocked },
  { name: 'SIGTERM with a slow upload', round: ending },
  { name: 'allow-list emptied', round: turningRed },
]

async function askDisarm({ desk }: Box): Promise<Request> {
  const askedMs = nowMs()
  const { status, text } = await desk.send('POST', '/v1/tx/disarm')
  const answeredMs = nowMs()
  const { transmitter, error } = JSON.parse(text)
  if (status === 200) return { askedMs, answeredMs, says: transmitter, answer: `200 ${transmitter}` }
  // The answer to a disarm that is not stored says that the transmitter is off.
  const isOff = String(error.message).includes('the transmitter is off')
  return { askedMs, answeredMs, says: isOff ? 'off' : 'unconfirmed', answer: `${status} ${error.code}` }
}

async function locked(box: Box): Promise<Request> {
  const Connection = createRequire(import.meta.url)('better-sqlite3')
  const other = new Connection(join(box.service.dataDir, 'svc.db'))
  other.exec('begin immediate')
  const release = wait(LOCK_MS).then(() => {
    other.exec('commit')
    other.close()
  })
  try {
    return await askDisarm(box)
  } finally {
    await release
  }
}

let rows: string | undefined

async function importing(box: Box): Promise<Request> {
  rows ??= ['imsi,ki,opc', ...Array.from({ length: IMPORT_ROWS }, (_, row) => card(row))].join('\n')
  const imported = box.request('POST', '/v1/sims/import', {
    body: rows,
    headers: { 'content-type': 'text/csv' },
  })
  await some(4_000)
  const request = await askDisarm(box)
  const { status, body } = await imported
  if (status !== 200 || body.imported !== IMPORT_ROWS) throw new Error(`import: ${status} ${body.imported}`)
  return request
}

function card(row: number): string {
  const key = (row + 1).toString(16).padStart(32, '0')
  return `99999${String(row).padStart(10, '0')},${key},${key}`
}

/** Exchanges the driver while an upload is open, and disarms meanwhile. */
async function exchanging(box: Box, exchange: (box: Box) => Promise<unknown>): Promise<Request> {
  const upload = await slowUpload(box)
  const exchanged = exchange(box)
  await some(150)
  try {
    return await askDisarm(box)
  } finally {
    upload.destroy()
    await exchanged
    await driverRuns(box)
  }
}

async function hangUp(box: Box): Promise<void> {
  box.changeRadio()
  box.service.child.kill('SIGHUP')
}

async function change(box: Box, what: 'load' | 'unload' | 'reload', body?: object): Promise<void> {
  const answer = await box.request(
    'POST',
    `/v1/plugins/driver-ran/${what}`,
    body === undefined ? {} : { body },
  )
  if (answer.status !== 200) throw new Error(`${what}: ${JSON.stringify(answer.body)}`)
}

function unloading(box: Box): Promise<Request> {
  return exchanging(box, () => change(box, 'unload').then(() => change(box, 'load')))
}

async function upgrading(box: Box): Promise<Request> {
  const folder = join(ROOT, 'packages/driver-ran')
  const { version, steeple } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const next = version.replace(/\d+$/, (patch: string) => String(Number(patch) + 1))
  const isBundled = (await driver(box)).version === version
  if (isBundled && !installed.has(box.folder)) {
    installed.add(box.folder)
    // An installed plugin is one file: it hands on the copy of the build, which is none.
    const copy = JSON.stringify(join(folder, 'dist/plugin.js'))
    const code = `import { createRequire } from 'node:module'
export const { plugin } = createRequire(${copy})(${copy})
`
    const packageName = '@steeple/driver-ran'
    installVersion(box.service.dataDir, {
      id: 'driver-ran',
      version: next,
      code,
      manifest: steeple,
      schema: JSON.parse(readFileSync(join(folder, 'config.schema.json'), 'utf8')),
      packageName,
    })
  }
  return exchanging(box, () =>
    change(box, 'load', isBundled ? { version: next } : { version, rollback: true }),
  )
}

async function full(box: Box, disk: SmallDisk): Promise<Request> {
  disk.fill()
  const request = await askDisarm(box)
  if (Math.random() < 0.3) {
    // The store knows of no disarm: nothing may come on air after a restart either.
    await box.service.kill()
    disk.free()
    await box.restart()
    await wait(2_500)
  } else disk.free()
  await eventually(async () => (await box.request('GET', '/v1/tx/arm')).body.armed === false)
  return request
}

async function flooded(box: Box): Promise<Request> {
  const { hostname, port } = new URL(box.service.url)
  const flood = connect(Number(port), hostname)
  flood.on('error', () => undefined)
  flood.pause()
  flood.write(`GET /v1/openapi.json HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`.repeat(FLOOD))
  await some(300)
  try {
    return await askDisarm(box)
  } finally {
    flood.destroy()
  }
}

async function blocked(box: Box): Promise<Request> {
  const inspector = await openInspector(box.service)
  const block = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${BLOCK_MS})`
  const over = inspector.evaluate(block).then(nowMs)
  await wait(100)
  await some(1_000)
  const request = await askDisarm(box)
  const overMs = await over
  inspector.close()
  // Nobody hears a request before the loop turns again.
  return { ...request, askedMs: Math.max(request.askedMs, overMs) }
}

async function ending(box: Box): Promise<Request> {
  const upload = await slowUpload(box)
  const { child } = box.service
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const askedMs = nowMs()
  child.kill('SIGTERM')
  const code = await ended
  const answeredMs = nowMs()
  upload.destroy()
  await wait(1_000)
  const seen = await box.air.since(answeredMs)
  // TX is armed in the store: it goes on air again.
  await box.restart()
  await box.request('POST', '/v1/tx/disarm')
  return { askedMs, answeredMs, says: 'off', answer: `exit ${code}`, seen }
}

async function turningRed(box: Box): Promise<Request> {
  const askedMs = nowMs()
  const { status } = await box.request('PUT', '/v1/policy', { body: { spectrum: { allow_list: [] } } })
  await eventually(async () => {
    const { body } = await box.request('GET', '/v1/tx/arm')
    return body.armed === false && body.transmitter === 'off'
  })
  const answeredMs = nowMs()
  await wait(200)
  await box.permit()
  return { askedMs, answeredMs, says: 'off', answer: `${status} off` }
}

/** An upload that does not come to an end. */
async function slowUpload(box: Box): Promise<Socket> {
  const { hostname, port } = new URL(box.service.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  const head = [
    'POST /v1/sims/import HTTP/1.1',
    `Host: ${hostname}`,
    `Authorization: Bearer ${box.service.adminToken}`,
    'Content-Type: text/csv',
    'Content-Length: 100000',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\nimsi,ki,opc\n`)
  const drip = setInterval(() => socket.write('#'), 100)
  socket.once('close', () => clearInterval(drip))
  await wait(100)
  return socket
}

interface PluginRecord {
  readonly name: string
  readonly version: string
  readonly state: string
}

async function driver(box: Box): Promise<PluginRecord> {
  const { body } = await box.request('GET', '/v1/plugins?limit=100')
  const found = (body.plugins as readonly PluginRecord[]).find(({ name }) => name === 'driver-ran')
  if (found === undefined) throw new Error('no driver-ran')
  return found
}

async function driverRuns(box: Box): Promise<void> {
  await eventually(async () => (await driver(box)).state === 'running')
}

enterOwnMounts(import.meta.filename)

/** Disarms of all loads together. */
const ROUNDS = timesAsOften(36)
const PER_LOAD = Math.ceil(ROUNDS / LOADS.length)
/** One load alone, by a part of its name. */
const CHOSEN = LOADS.filter(({ name }) => name.includes(process.env.SVC_DISARM_LOAD ?? ''))
/** From the request to the last sample. What the machine itself was late by is added. */
const BOUND_MS = 500
const DISK_MIB = 48
/** Nothing may come after an answer, not even later. */
const QUIET_MS = 300
const HISTOGRAM_MS = [50, 100, 200, 300, 350, 400, 450, 500, Number.POSITIVE_INFINITY]

const disarm = suite('e2e/disarm')

interface Round {
  readonly manners: Manners
  readonly lastMs: number
  readonly answerMs: number
  readonly answer: string
  readonly lateMs: number
  readonly afterAnswer: number
}

async function round(
  air: Air,
  box: Box,
  load: Load,
  disk: ReturnType<typeof memoryDisk>,
  manners: Manners,
): Promise<Round> {
  air.behave(manners)
  await box.onAir()
  await wait(Math.random() * 100)
  await air.since(0)
  const request: Request = await load.round(box, disk)
  await wait(QUIET_MS)
  const { lastMs, lastSentMs, lateMs } = request.seen ?? (await air.since(request.answeredMs))
  return {
    manners,
    lastMs: Math.max(0, lastMs - request.askedMs),
    answerMs: request.answeredMs - request.askedMs,
    answer: request.answer,
    lateMs,
    afterAnswer: request.says === 'unconfirmed' ? 0 : Math.max(0, lastSentMs - request.answeredMs),
  }
}

const all: Round[] = []

for (const load of CHOSEN) {
  disarm(
    `is off the air in time, and before it says so: ${load.name}`,
    async () => {
      const disk = memoryDisk(DISK_MIB)
      const folder = mkdtempSync(join(tmpdir(), 'steeple-disarm-'))
      const rounds: Round[] = []
      try {
        const air = await openAir(folder)
        const home = load.name === 'full disk' ? disk.path : join(folder, 'box')
        mkdirSync(home, { recursive: true })
        const box = await openBox(air, home)
        try {
          for (let turn = 0; turn < PER_LOAD; turn += 1) {
            if (load.isFresh === true && turn > 0) {
              await box.service.kill()
              await box.restart(true)
              await box.permit()
            }
            rounds.push(await round(air, box, load, disk, turn % 2 === 0 ? 'deaf' : 'polite'))
          }
        } finally {
          await box.close()
          air.close()
        }
      } finally {
        disk.remove()
        rmSync(folder, { recursive: true, force: true })
        all.push(...rounds)
        process.stdout.write(`# ${summary(load.name, rounds)}\n`)
      }
      for (const each of rounds) {
        assert.is(each.afterAnswer, 0, `a sample after the answer: ${JSON.stringify(each)}`)
        assert.ok(each.lastMs <= BOUND_MS + each.lateMs, `too late: ${JSON.stringify(each)}`)
      }
    },
    { limitMs: 360_000 + PER_LOAD * 30_000 },
  )
}

disarm('has a histogram', () => {
  assert.is(all.length, PER_LOAD * CHOSEN.length)
  process.stdout.write(
    `# ${summary('all', all)}\n# last sample: ${histogram(all.map(({ lastMs }) => lastMs))}\n`,
  )
})

function summary(name: string, rounds: readonly Round[]): string {
  const last = rounds.map(({ lastMs }) => lastMs)
  const answers = [...new Set(rounds.map(({ answer }) => answer))].join(', ')
  return (
    `${name}: ${rounds.length} rounds, last sample min/median/max ${spread(last)} ms, ` +
    `answer ${spread(rounds.map(({ answerMs }) => answerMs))} ms, machine late by at most ` +
    `${Math.round(Math.max(...rounds.map(({ lateMs }) => lateMs)))} ms, answers ${answers}`
  )
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b)
  return [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
    .map((each) => Math.round(each ?? 0))
    .join('/')
}

function histogram(values: readonly number[]): string {
  let least = Number.NEGATIVE_INFINITY
  return HISTOGRAM_MS.map((most) => {
    const count = values.filter((each) => each > least && each <= most).length
    least = most
    return `≤ ${most}: ${count}`
  }).join(', ')
}

disarm.run()
