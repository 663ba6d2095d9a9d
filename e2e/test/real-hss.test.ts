import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { startDatabase } from '../containers/database.ts'
import { startPodman } from '../containers/engine.ts'
import { MONGO, runningShells, startMongoContainer } from '../containers/mongo-container.ts'
import { enterOwnMachine, machineFolder } from '../containers/own-machine.ts'
import {
  allSynced,
  canonical,
  hssHealth,
  importCard,
  issue,
  RECORDED_CARD,
  SqnBook,
  wantedDocument,
} from '../containers/provisioning.ts'
import { about } from '../harness/builds/program.ts'
import { filesOf } from '../harness/canary/files.ts'
import { bytesNeedle, found, textNeedle } from '../harness/canary/needles.ts'
import { ROOT } from '../harness/launch.ts'
import { type Service, startService } from '../harness/service.ts'

const ADDRESS = ['127.0.0.2', 9090] as const
const NOBODY = '{"items":[],"pager":{"page":0,"page_size":100,"count":0}}'

/** An MME without phones where the product expects one: `/` and its lists, nothing else. */
async function startQuietCore(): Promise<{ close(): void }> {
  const server = createServer((request, response) => {
    const path = request.url?.replace(/\?.*/, '') ?? ''
    const body = path === '/' ? 'OK\n' : /^\/(ue|enb)-info$/.test(path) ? NOBODY : undefined
    response.writeHead(body === undefined ? 400 : 200, { connection: 'close' }).end(body ?? 'Bad Request\n')
  })
  server.listen(ADDRESS[1], ADDRESS[0])
  await once(server, 'listening')
  return {
    close: () => {
      server.close()
    },
  }
}

enterOwnMachine(import.meta.filename)

/** What free5GC 4 keeps of the card, by hand from its sources: a collection and canonical EJSON a line. */
const FREE5GC_DOCUMENTS = join(ROOT, 'e2e/containers/free5gc-subscriber.ejson-lines.txt')
/** A slow step: the driver gives up on a shell after 15 s, and rests up to 15 s after failures. */
const PATIENCE_MS = 180_000

const real = suite('e2e/real-hss')
const [engine, database, core] = await Promise.all([startPodman(), startDatabase(), startQuietCore()])
const book = new SqnBook(database)
const subscribers = database.collection('open5gs', 'subscribers')
let service: Service
let card: string

real.before(async () => {
  await startMongoContainer(engine)
  service = await startService({
    dataDir: join(machineFolder(), 'data'),
    env: { SVC_HSS_ENGINE_SOCKET: engine.socket, SVC_SIMS_DRIFT_INTERVAL: '2s' },
  })
})

real.after(async () => {
  await service.stop()
  core.close()
  await database.close()
  await engine.close()
})

real('provisions a card byte for byte as the core wants it', async () => {
  card = await importCard(service, RECORDED_CARD)
  await allSynced(service, PATIENCE_MS)
  const stored = await subscribers.findOne({ imsi: RECORDED_CARD.imsi })
  assert.is(canonical(stored), wantedDocument(RECORDED_CARD))
  const indexes = await subscribers.indexes()
  assert.ok(indexes.some(({ key, unique }) => 'imsi' in key && unique === true))
})

real('blocks, unblocks and removes in the database', async () => {
  const state = async (action: string, wants: (doc: unknown) => boolean): Promise<void> => {
    const answer = await service.request('POST', `/v1/sims/${card}/${action}`, { body: {} })
    assert.is(answer.status, 200, JSON.stringify(answer.body))
    await eventually(async () => wants(await subscribers.findOne({ imsi: RECORDED_CARD.imsi })))
    await allSynced(service, PATIENCE_MS)
  }
  const before = canonical(await subscribers.findOne({ imsi: RECORDED_CARD.imsi }))
  await state('suspend', (doc) => /"request_cancel_location": true.*"slice": \[\]/s.test(canonical(doc)))
  await state('resume', (doc) => canonical(doc) === before)
  await state('revoke', (doc) => doc === null)
})

real('keeps no key and no IMSI in the container, nor on a command line of it', async () => {
  const needles = [
    textNeedle('Ki', RECORDED_CARD.ki),
    bytesNeedle('Ki, the bytes', Buffer.from(RECORDED_CARD.ki, 'hex')),
    textNeedle('OPc', RECORDED_CARD.opc),
    textNeedle('the IMSI', RECORDED_CARD.imsi),
  ]
  const files = filesOf(machineFolder(), [])
  const left = files.flatMap(({ name, content }) =>
    found(needles, content).map((needle) => `${needle} in ${name}`),
  )
  assert.equal(left, [])
  const [shell] = runningShells()
  if (shell === undefined) return
  assert.equal(found(needles, readFileSync(`/proc/${shell}/cmdline`)), [])
})

/** Something breaks, and the health says so. */
interface Stage {
  readonly what: string
  begin(): Promise<void>
  readonly words: RegExp
}

interface Trouble {
  readonly stages: readonly Stage[]
  end(): Promise<void>
}

async function replaceContainer(shell: 'mongosh' | 'garbage' | 'none'): Promise<void> {
  await engine.remove(MONGO)
  await startMongoContainer(engine, shell)
}

const TROUBLES: readonly Trouble[] = [
  {
    stages: [
      { what: 'the container is stopped', begin: () => engine.stop(MONGO), words: /not running/ },
      { what: 'the container is gone', begin: () => engine.remove(MONGO), words: /no such container/ },
      { what: 'it has no mongosh', begin: () => startMongoContainer(engine, 'none'), words: /no mongosh/ },
    ],
    end: () => replaceContainer('mongosh'),
  },
  {
    stages: [{ what: 'the engine does not run', begin: () => engine.hide(), words: /socket is missing/ }],
    end: () => engine.show(),
  },
  {
    stages: [
      {
        what: 'the shell answers garbage',
        begin: () => replaceContainer('garbage'),
        words: /no answer within 15000 ms|does not answer/,
      },
    ],
    end: () => replaceContainer('mongosh'),
  },
  {
    stages: [
      {
        what: 'the database hangs',
        begin: async () => database.freeze(),
        words: /no answer within 15000 ms|does not answer|MongoServerSelectionError|MongoNetwork/,
      },
    ],
    end: async () => database.thaw(),
  },
]

async function isSaid({ what, words }: Stage): Promise<void> {
  const from = performance.now()
  let health = await hssHealth(service)
  await eventually(async () => {
    health = await hssHealth(service)
    return !health.isOk && words.test(health.words)
  }, PATIENCE_MS).catch((cause) => {
    throw new Error(health.words, { cause })
  })
  process.stdout.write(`\n# ${what}: said after ${seconds(performance.now() - from)} s\n`)
}

for (const { stages, end } of TROUBLES) {
  real(
    `says that ${stages.map(({ what }) => what).join(', ')}, and pushes each subscriber once when all is well`,
    async () => {
      await eventually(async () => (await hssHealth(service)).isOk, PATIENCE_MS)
      const held = await book.check()
      for (const [at, stage] of stages.entries()) {
        await stage.begin()
        if (at === 0) await issue(service, 5)
        await isSaid(stage)
      }
      await end()
      const from = performance.now()
      await allSynced(service, PATIENCE_MS)
      assert.is(await book.check(), held + 5)
      process.stdout.write(`\n# all well: everything pushed ${seconds(performance.now() - from)} s later\n`)
    },
    { limitMs: (stages.length + 2) * PATIENCE_MS },
  )
}

real(
  'does not notice that the container is recreated in between',
  async () => {
    const held = await book.check()
    await issue(service, 5)
    await replaceContainer('mongosh')
    await issue(service, 5)
    await allSynced(service, PATIENCE_MS)
    assert.is(await book.check(), held + 10)
  },
  { limitMs: 2 * PATIENCE_MS },
)

real(
  'replaces a shell that hangs by itself',
  async () => {
    const held = await book.check()
    await eventually(async () => runningShells().length > 0)
    const stuck = runningShells()
    for (const pid of stuck) process.kill(pid, 'SIGSTOP')
    const from = performance.now()
    await issue(service, 5)
    await allSynced(service, PATIENCE_MS)
    assert.is(await book.check(), held + 5)
    process.stdout.write(`\n# the shell hangs: all pushed ${seconds(performance.now() - from)} s later\n`)
    for (const pid of stuck) process.kill(pid, 'SIGCONT')
    await eventually(async () => runningShells().every((pid) => !stuck.includes(pid)))
  },
  { limitMs: 2 * PATIENCE_MS },
)

about(['driver-core-b'], real)('provisions, blocks and removes in the documents of free5GC', async () => {
  await using other = await startService({
    dataDir: join(machineFolder(), 'other-data'),
    env: { SVC_HSS_ENGINE_SOCKET: engine.socket, SVC_HSS_DRIVER: 'core_b', SVC_CORE: 'core_b' },
  })
  const hash = await importCard(other, RECORDED_CARD)
  await allSynced(other, PATIENCE_MS)
  // The mark by which a database is known again is nobody's document.
  const docs = async (): Promise<string> =>
    (await database.world('free5gc')).filter((line) => !line.startsWith('steeple')).join('\n')
  const provisioned = await docs()
  assert.is(provisioned, readFileSync(FREE5GC_DOCUMENTS, 'utf8').trimEnd())
  await other.request('POST', `/v1/sims/${hash}/suspend`, { body: {} })
  await eventually(async () => (await docs()) !== provisioned)
  assert.is((await docs()).replaceAll('suspended-', ''), provisioned)
  await other.request('POST', `/v1/sims/${hash}/resume`, { body: {} })
  await eventually(async () => (await docs()) === provisioned)
  await allSynced(other, PATIENCE_MS)
  await other.request('POST', `/v1/sims/${hash}/revoke`, { body: {} })
  await eventually(async () => (await docs()) === '')
})

real.run()

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
