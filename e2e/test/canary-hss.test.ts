import { randomBytes, randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { about } from '../harness/builds/program.ts'
import { filesOf, type Place } from '../harness/canary/files.ts'
import { bytesNeedle, found, type Needle, textNeedle } from '../harness/canary/needles.ts'
import { watchProcesses } from '../harness/canary/process-watch.ts'
import { whereFound } from '../harness/canary/search.ts'
import { type FailingProxy, startFailingProxy } from '../harness/hss/failing-proxy.ts'
import { type Mongo, needMongo, startMongo } from '../harness/hss/mongo.ts'
import {
  type HostEngine,
  makeEchoingDbctl,
  makeMongoDbctl,
  startHostEngine,
  type TestTool,
} from '../harness/hss/test-tools.ts'
import { type Service, startedProcesses } from '../harness/service.ts'

needMongo()

/*
 * Ki, OPc, ADM1 and IMSI of cards go through every HSS driver, and through those that fail in every way known: the
 * database refuses (its words repeat what was written), answers nothing, is reached on a way that breaks, takes no
 * password; mongosh talks nonsense; the tool repeats what it is told. They are searched in what the service prints,
 * answers, counts and stores, and in the process list of the machine while it works.
 */
const canary = suite('e2e/canary-hss')
const PASSWORD = `Url-pass-${randomBytes(12).toString('hex')}`
const CARDS = 4

interface Card {
  readonly imsi: string
  readonly ki: string
  readonly opc: string
  readonly adm1: string
}

interface Scene {
  readonly name: string
  readonly env: () => Promise<Readonly<Record<string, string>>>
  /** Packages without which there is no such driver. */
  readonly needs?: readonly string[]
  /** Brings the trouble; takes it back when it is called again. */
  readonly trouble?: (isOn: boolean) => Promise<void>
  /** Whether everything is written back in the end. */
  readonly works: boolean
  /** The stock tool takes keys on its command line; that is documented. */
  readonly showsKeys?: boolean
}

const processes = startedProcesses()
let mongo: Mongo
let proxy: FailingProxy
let engine: HostEngine
let stock: TestTool
const folders: string[] = []

canary.before(async () => {
  mongo = await startMongo()
  proxy = await startFailingProxy(mongo.port)
  engine = await startHostEngine(mongo.port)
  stock = await makeMongoDbctl()
})
canary.after(async () => {
  processes.endAll()
  await engine.close()
  await proxy.close()
  await mongo.close()
  await stock.remove()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const direct =
  (url: () => string, driver = 'docdb_shell') =>
  async () => ({
    SVC_CORE: driver === 'core_b' ? 'core_b' : 'core_a',
    SVC_HSS_DRIVER: driver,
    SVC_HSS_MONGO_URL: url(),
  })
const shell = async (): Promise<Readonly<Record<string, string>>> => ({
  SVC_HSS_DRIVER: 'docdb_shell',
  SVC_HSS_ENGINE_SOCKET: engine.socket,
})
const dbctl =
  (path: () => string, more: () => Record<string, string> = () => ({})) =>
  async () => ({
    SVC_HSS_DRIVER: 'dbctl',
    SVC_HSS_DBCTL_PATH: path(),
    ...more(),
  })
const echoing = (isBatch: boolean): string => {
  const path = makeEchoingDbctl(isBatch)
  folders.push(dirname(path))
  return path
}
/** The database refuses the second card, and says which Ki was there already. */
const refuses = async (isOn: boolean): Promise<void> => {
  if (isOn) await mongo.subscribers.createIndex({ 'security.k': 1 }, { unique: true, name: 'odd' })
  else await mongo.subscribers.dropIndex('odd')
}
const mood = (bad: HostEngine['mood']) => async (isOn: boolean) => {
  engine.mood = isOn ? bad : 'well'
}

const SCENES: readonly Scene[] = [
  { name: 'docdb_shell by mongo_url', env: direct(() => mongo.url), works: true },
  {
    name: 'core_b by mongo_url',
    env: direct(() => mongo.url, 'core_b'),
    needs: ['driver-core-b'],
    works: true,
  },
  {
    name: 'mongo_url on a way that breaks',
    env: direct(() => proxy.url),
    works: true,
    trouble: async (isOn) => {
      proxy.share = isOn ? 0.8 : 0
    },
  },
  {
    name: 'mongo_url and a database that refuses',
    env: direct(() => mongo.url),
    works: true,
    trouble: refuses,
  },
  {
    name: 'mongo_url with a password that is not taken',
    env: direct(() => mongo.url.replace('//', `//someone:${PASSWORD}@`)),
    works: false,
  },
  { name: 'mongosh', env: shell, works: true },
  { name: 'mongosh and a database that refuses', env: shell, works: true, trouble: refuses },
  { name: 'mongosh that talks nonsense', env: shell, works: false, trouble: mood('garbage') },
  { name: 'mongosh without a database', env: shell, works: true, trouble: mood('unreachable-database') },
  {
    name: 'dbctl, the stock tool',
    env: dbctl(
      () => stock.path,
      () => ({ SVC_HSS_MONGO_URL: `${mongo.url}/open5gs` }),
    ),
    works: true,
    showsKeys: true,
  },
  { name: 'dbctl that repeats its words', env: dbctl(() => echoing(false)), works: false, showsKeys: true },
  { name: 'dbctl that repeats its input', env: dbctl(() => echoing(true)), works: false },
]

for (const scene of SCENES)
  about(scene.needs ?? [], canary)(`leaks nothing of a card through ${scene.name}`, () => play(scene), {
    limitMs: 360_000,
  })

async function play(scene: Scene): Promise<void> {
  const cards = drawCards()
  const needles = cards.flatMap(needlesOf)
  const watch = watchProcesses()
  try {
    await scene.trouble?.(true)
    const { output, answers, files } = await live(scene, cards)
    search(needles, 'the data directory', files)
    search(needles, 'an answer', answers)
    const lines = output.split('\n')
    assert.ok(lines.length > 20, 'the log is at debug level')
    const said = lines.map((line) => ({ name: line.slice(0, 60), content: Buffer.from(line) }))
    search(needles, 'the log', said)
    const seen = watch.stop()
    assert.ok(seen.length > 3, 'the process list was looked at')
    if (scene.showsKeys !== true) search(needles, 'the process list', seen)
    // The search itself is tried on what must be there.
    else if (scene.works) assert.ok(seen.some(({ content }) => found(needles, content).includes('Ki')))
  } finally {
    watch.stop()
    await scene.trouble?.(false).catch(() => undefined)
    await mongo.clear()
  }
}

interface Life {
  readonly output: string
  readonly answers: readonly Place[]
  readonly files: readonly Place[]
}

/** A service from its start to its end, with cards that come, are moved and are looked at. */
async function live(scene: Scene, cards: readonly Card[]): Promise<Life> {
  const service = await processes.start({
    flags: ['--log-level', 'debug'],
    env: { ...(await scene.env()), SVC_SIMS_DRIFT_INTERVAL: '1s' },
  })
  const answers: Place[] = []
  try {
    const hashes = await importCards(service, cards, answers)
    await settled(service, hashes, scene.trouble === undefined && scene.works)
    await moveAll(service, hashes, answers)
    await scene.trouble?.(false)
    if (scene.works) await settled(service, hashes.slice(1), true)
    await askEverything(service, answers)
    const files = filesOf(service.dataDir, ['keys'])
    await service.stop()
    return { output: service.output(), answers, files }
  } finally {
    await service.stop()
  }
}

/** Cards of which the first two have the same Ki. */
function drawCards(): readonly Card[] {
  const [first = drawCard(), ...others] = Array.from({ length: CARDS }, drawCard)
  return [first, ...others.map((card, n) => (n === 0 ? { ...card, ki: first.ki } : card))]
}

function drawCard(): Card {
  const digits = (count: number): string => Array.from({ length: count }, () => randomInt(10)).join('')
  return {
    imsi: `99999${digits(10)}`,
    ki: randomBytes(16).toString('hex'),
    opc: randomBytes(16).toString('hex'),
    adm1: randomBytes(8).toString('hex'),
  }
}

function needlesOf({ imsi, ki, opc, adm1 }: Card): readonly Needle[] {
  return [
    textNeedle('the IMSI', imsi),
    textNeedle('Ki', ki),
    bytesNeedle('Ki, the bytes', Buffer.from(ki, 'hex')),
    textNeedle('OPc', opc),
    bytesNeedle('OPc, the bytes', Buffer.from(opc, 'hex')),
    textNeedle('ADM1', adm1),
    textNeedle('the password of the database', PASSWORD),
  ]
}

async function importCards(
  service: Service,
  cards: readonly Card[],
  answers: Place[],
): Promise<readonly string[]> {
  const { body } = await service.request('POST', '/v1/sims/import', { body: { sims: cards } })
  answers.push({ name: 'import', content: Buffer.from(JSON.stringify(body)) })
  assert.is(body.imported, cards.length, JSON.stringify(body))
  return body.results.map((result: { readonly imsi_sha256_12: string }) => result.imsi_sha256_12)
}

/** Waits until each of the SIMs is in the HSS, or a moment while something is in the way. */
async function settled(service: Service, hashes: readonly string[], works: boolean): Promise<void> {
  if (!works) {
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    return
  }
  await eventually(async () => {
    for (const hash of hashes) {
      const { body } = await service.request('GET', `/v1/sims/${hash}`)
      if (body.state === 'issued' && body.provisioning.status !== 'synced') return false
    }
    return true
  })
}

async function moveAll(service: Service, hashes: readonly string[], answers: Place[]): Promise<void> {
  const [first, second, third] = hashes
  const moves = [
    `${first}/revoke?wait=1s`,
    `${second}/suspend?wait=1s`,
    `${third}/suspend`,
    `${third}/resume`,
  ]
  for (const path of moves) {
    const { body } = await service.request('POST', `/v1/sims/${path}`)
    answers.push({ name: path, content: Buffer.from(JSON.stringify(body)) })
  }
}

async function askEverything(service: Service, answers: Place[]): Promise<void> {
  const paths = [
    '/v1/sims',
    '/v1/sims/export',
    '/v1/health',
    '/v1/status',
    '/v1/audit?limit=200',
    '/v1/core/plan',
    '/v1/plugins',
    '/metrics',
  ]
  for (const path of paths) {
    const { body } = await service.request('GET', path)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    answers.push({ name: path, content: Buffer.from(text) })
  }
}

function search(needles: readonly Needle[], where: string, places: readonly Place[]): void {
  assert.equal(whereFound(needles, places), [], where)
}

canary.run()
