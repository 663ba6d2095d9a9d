import { connect, createServer } from 'node:net'
import { assert, enterOwnMachine, eventually, listen, stretched, suite } from '@steeple/testkit'
import { filesOf, type Place } from '../harness/canary/files.ts'
import { bytesNeedle, type Needle, textNeedle } from '../harness/canary/needles.ts'
import { whereFound } from '../harness/canary/search.ts'
import { type Mongo, needMongo, startMongo } from '../harness/hss/mongo.ts'
import { TEST_KI, TEST_OPC } from '../harness/hss/sims.ts'
import type { Box } from '../harness/mesh/box.ts'
import { ask, joinMesh, MESH_LIMIT, type Village, village, WAIT_MS } from '../harness/mesh/mesh.ts'

needMongo()
enterOwnMachine(import.meta.filename)

const roaming = suite('e2e/roaming')
const IMSI = '999990000000042'
/** The test's own address on the network of the boxes. */
const HERE = '10.9.0.254'
/** What a box answers of others' SIMs and of its own. */
const PATHS = [
  '/v1/audit?limit=500',
  '/v1/roaming/boxes',
  '/v1/roaming/visitors',
  '/v1/sims',
  '/v1/health',
  '/metrics',
]
/** A change at home holds at a visited box that is reached. */
const HEARD_MS = 5_000

let three: Village
let databases: readonly Mongo[] = []
let home: Box
let visited: Box
let hash = ''

/** A port at which boxes reach a database of this machine. */
async function doorTo(mongo: Mongo): Promise<string> {
  const server = createServer((near) => {
    const far = connect(mongo.port, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => socket.destroy())
    near.pipe(far)
    far.pipe(near)
  })
  const { port } = await listen(server, '0.0.0.0')
  server.unref()
  return `mongodb://${HERE}:${port}`
}

roaming.before(async () => {
  databases = await Promise.all([startMongo(), startMongo()])
  const urls = await Promise.all(databases.map(doorTo))
  three = await village(3, (number) => {
    const url = urls[number - 1]
    const lease = { SVC_ROAMING_LEASE: '1m', SVC_SERVER_LOGLEVEL: 'debug' }
    return url === undefined ? lease : { ...lease, SVC_HSS_DRIVER: 'docdb_shell', SVC_HSS_MONGO_URL: url }
  })
  home = three.box('box1')
  visited = three.box('box2')
  for (const box of three.boxes) if (box !== three.root) await joinMesh(box, three.root)
}, MESH_LIMIT)

roaming.after(async () => {
  await three?.end()
  for (const mongo of databases) await mongo.close()
})

/** The document of the SIM in the HSS of a box. */
async function documentAt(number: number) {
  return await databases[number]?.subscribers.findOne({ imsi: IMSI })
}

async function until(what: () => Promise<boolean>): Promise<number> {
  const begun = performance.now()
  await eventually(what, WAIT_MS)
  return performance.now() - begun
}

const slices = (doc: unknown): number =>
  (doc as { readonly slice: readonly unknown[] } | null)?.slice.length ?? -1

roaming(
  'the HSS of a permitted box gets a SIM that reaches the mesh, with an index of its own',
  async () => {
    await ask(home, 'POST', '/v1/sims/import', { sims: [{ imsi: IMSI, ki: TEST_KI, opc: TEST_OPC }] })
    hash = (await ask(home, 'GET', '/v1/sims')).sims[0].imsi_sha256_12
    await ask(home, 'PUT', `/v1/sims/${hash}/reach`, { reach: 'mesh' })
    await until(async () => (await documentAt(0)) !== null)
    assert.is(await documentAt(1), null, 'a box that was not permitted has it')
    await ask(home, 'PUT', `/v1/roaming/boxes/${visited.nodeId}`, { permitted: true })
    const tookMs = await until(async () => (await documentAt(1)) !== null)
    process.stdout.write(`\n# a permitted box has the SIM after ${Math.round(tookMs)} ms\n`)
    const [own, theirs] = [await documentAt(0), await documentAt(1)]
    assert.is(String(theirs?.security.k), TEST_KI)
    assert.is(Number(own?.security.sqn) % 32, 0)
    assert.is.not(Number(theirs?.security.sqn) % 32, 0, 'it draws from the sequence of the home')
    const { boxes } = await ask(home, 'GET', `/v1/sims/${hash}/reach`)
    assert.equal(
      boxes.map(({ name, state, is_told }: { name: string; state: string; is_told: boolean }) => [
        name,
        state,
        is_told,
      ]),
      [['box2', 'open', true]],
    )
    const { visitors } = await ask(visited, 'GET', '/v1/roaming/visitors')
    assert.equal([visitors.length, visitors[0].home.name, visitors[0].state], [1, 'box1', 'open'])
  },
  MESH_LIMIT,
)

roaming(
  'a suspension at home blocks it at the visited box, and a resumption lets it on again',
  async () => {
    await ask(home, 'POST', `/v1/sims/${hash}/suspend`, {})
    const tookMs = await until(async () => slices(await documentAt(1)) === 0)
    process.stdout.write(`\n# blocked at the visited box after ${Math.round(tookMs)} ms\n`)
    assert.ok(tookMs < stretched(HEARD_MS), `${tookMs} ms`)
    await ask(home, 'POST', `/v1/sims/${hash}/resume`, {})
    await until(async () => slices(await documentAt(1)) > 0)
  },
  MESH_LIMIT,
)

roaming(
  'while the home is off the visited box serves it for its lease and no longer, and again when the home is back',
  async () => {
    const before = Number((await documentAt(1))?.security.sqn)
    await home.kill()
    await until(async () => (await documentAt(1)) === null)
    assert.equal((await ask(visited, 'GET', '/v1/roaming/visitors')).visitors, [])
    await home.start()
    await until(async () => (await documentAt(1)) !== null)
    const after = Number((await documentAt(1))?.security.sqn)
    assert.ok(after > before, `SQN ${after} after ${before}`)
    assert.is(after % 32, before % 32)
  },
  MESH_LIMIT,
)

roaming(
  'a box that was taken out of the mesh gets nothing more, and keeps no SIM of it',
  async () => {
    await ask(home, 'POST', `/v1/nodes/${visited.nodeId}/leave`, {})
    await until(async () => (await documentAt(1)) === null)
    const { body } = await visited.ask('GET', '/v1/roaming/visitors')
    assert.equal(body.visitors, [])
  },
  MESH_LIMIT,
)

roaming('neither keys nor IMSI are in what boxes store, print, answer, count or audit', async () => {
  const needles: readonly Needle[] = [
    textNeedle('Ki', TEST_KI),
    textNeedle('OPc', TEST_OPC),
    bytesNeedle('Ki, the octets', Buffer.from(TEST_KI, 'hex')),
    bytesNeedle('OPc, the octets', Buffer.from(TEST_OPC, 'hex')),
    textNeedle('IMSI', IMSI),
  ]
  const actions: string[][] = []
  for (const box of three.boxes) {
    const places: Place[] = [
      ...filesOf(box.dataDir, []),
      { name: 'output', content: Buffer.from(box.output()) },
    ]
    for (const path of PATHS) {
      const body = await ask(box, 'GET', path)
      places.push({ name: path, content: Buffer.from(JSON.stringify(body)) })
    }
    assert.equal(whereFound(needles, places), [], box.name)
    const { entries } = await ask(box, 'GET', '/v1/audit?limit=500')
    actions.push(entries.map(({ action }: { action: string }) => action))
  }
  const [own = [], theirs = []] = actions
  assert.ok(own.includes('roaming.grant') && theirs.includes('roaming.visit'), 'audited at both')
})

roaming.run()
