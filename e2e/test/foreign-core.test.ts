import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, listen, suite } from '@steeple/testkit'
import { Double, deserialize, EJSON, Int32, Long } from 'bson'
import { MongoClient } from 'mongodb'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { signInWithToken } from '../harness/console-page.ts'
import { type Mongo, needMongo, startMongo } from '../harness/hss/mongo.ts'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'
import { startTcpProxy } from '../harness/tcp-proxy.ts'

/** A way to a database on which every command is noted, and every one that writes breaks the connection. */
interface WatchedDatabase {
  readonly url: string
  /** Commands that would have written. */
  readonly writes: readonly string[]
  /** How many commands only read. */
  readonly reads: number
  close(): Promise<void>
}

/** Commands of the MongoDB protocol that change nothing. Whatever is not among them counts as a write. */
const READING: ReadonlySet<string> = new Set(
  'hello isMaster ismaster ping find getMore count aggregate distinct endSessions killCursors buildInfo'.split(
    ' ',
  ),
)
/** Octets before the document of an OP_MSG: header, flags, kind of section. */
const OP_MSG = { code: 2013, document: 21 } as const
const HEADER_OCTETS = 16

/** Starts one in front of the database on `port`. */
async function startWatchedDatabase(port: number): Promise<WatchedDatabase> {
  const writes: string[] = []
  let reads = 0
  const proxy = await startTcpProxy(
    () => port,
    (client, database, end) => {
      database.pipe(client)
      let waiting: Buffer = Buffer.alloc(0)
      client.on('data', (bytes: Buffer) => {
        waiting = Buffer.concat([waiting, bytes])
        while (waiting.length >= HEADER_OCTETS && waiting.length >= waiting.readInt32LE(0)) {
          const message = waiting.subarray(0, waiting.readInt32LE(0))
          waiting = waiting.subarray(message.length)
          const command = commandOf(message)
          if (command !== undefined && !READING.has(command)) {
            writes.push(command)
            return end()
          }
          reads += 1
          database.write(message)
        }
      })
    },
  )
  return {
    url: `mongodb://127.0.0.1:${proxy.port}`,
    writes,
    get reads() {
      return reads
    },
    close: proxy.close,
  }
}

/** Undefined for the handshake of old servers, which is no OP_MSG. */
function commandOf(message: Buffer): string | undefined {
  if (message.readInt32LE(12) !== OP_MSG.code) return undefined
  const document = message.subarray(OP_MSG.document)
  return Object.keys(deserialize(document.subarray(0, document.readInt32LE(0))))[0]
}

needMongo()

/** A core that somebody else has set up: its files, its subscribers, its phones. */
const foreign = suite('e2e/foreign-core')
const LIMIT = { limitMs: 360_000 }
const THEIRS = { 'mme.yaml': 'HAND-MADE: mme\n', 'smf.yaml': 'HAND-MADE: smf\n', 'mine.txt': 'notes\n' }
const IMSI = '999990000000777'

const int = (value: number): Int32 => new Int32(value)
const rate = (value: number, unit: number) => ({
  downlink: { value: int(value), unit: int(unit) },
  uplink: { value: int(value), unit: int(unit) },
})
const qos = {
  index: int(9),
  arp: { priority_level: int(8), pre_emption_capability: int(1), pre_emption_vulnerability: int(1) },
}
/** As Open5GS' WebUI stores one: keys with blanks, OP, SD, a static address, rules. */
const byWebUi = {
  ...{
    schema_version: int(1),
    imsi: '999990000000781',
    msisdn: ['491700000781'],
    imeisv: [],
    purge_flag: [],
  },
  security: {
    k: '465B5CE8 B199B49F AA5F0A2E E238A6BC',
    op: 'CDC202D5 123E20F6 2B6D676A C72CB318',
    opc: null,
    amf: '8000',
    sqn: Long.fromNumber(97_000),
  },
  ambr: rate(1, 3),
  slice: [
    {
      sst: int(1),
      default_indicator: true,
      session: [
        { name: 'corp', type: int(3), qos, ambr: rate(50, 2), ue: { ipv4: '10.45.0.66' }, pcc_rule: [] },
      ],
    },
    {
      sst: int(1),
      sd: '0000ff',
      session: [{ name: 'internet', type: int(1), qos, ambr: rate(1, 3), pcc_rule: [] }],
    },
  ],
  ...{
    access_restriction_data: int(32),
    subscriber_status: int(0),
    network_access_mode: int(0),
    __v: int(0),
  },
}
/** As people write them: no SD, no rules, a field of their own, and the same APN twice. */
const byHand = {
  ...{ imsi: '999990000000782', schema_version: int(1), house: 'harbour 4', subscriber_status: int(1) },
  security: {
    k: '465b5ce8b199b49faa5f0a2ee238a6bc',
    opc: 'cd63cb71954a9f4e48a5994e37a02baf',
    amf: '9001',
    sqn: Long.fromNumber(64),
  },
  ambr: rate(2, 2),
  slice: [
    {
      sst: int(1),
      session: [
        { name: 'internet', ambr: rate(2, 2) },
        { name: 'internet', ambr: rate(1, 2) },
      ],
    },
  ],
}
const blockedByHand = { ...byHand, imsi: '999990000000783', slice: [] }

async function everything(): Promise<string> {
  const docs = await mongo.subscribers.find().sort({ imsi: 1 }).toArray()
  return EJSON.stringify(docs, { relaxed: false })
}

/** What the tests use of the engine of southbound's own tests. */
interface TestEngine {
  readonly socket: string
  readonly restarts: readonly string[]
  add(name: string): unknown
  close(): Promise<void>
}

let folder: string
let configDir: string
let mongo: Mongo
let engine: TestEngine
const servers: Server[] = []
/** Requests to the core that are more than a question. */
const told: string[] = []

foreign.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-foreign-'))
  configDir = join(folder, 'core')
  mkdirSync(configDir)
  const support = join(ROOT, 'packages/southbound/test/support/stand-in-engine.ts')
  engine = await ((await import(support)) as { startEngine(): Promise<TestEngine> }).startEngine()
  for (const name of ['mme', 'smf']) engine.add(name)
  mongo = await startMongo()
}, LIMIT)
foreign.after(async () => {
  for (const server of servers) server.close()
  await Promise.all([engine.close(), mongo.close()])
  rmSync(folder, { recursive: true, force: true })
}, LIMIT)

/** A daemon that lists these, whatever it is asked for; everything but a question is noted. */
async function daemon(lists: Readonly<Record<string, readonly unknown[]>>): Promise<string> {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://core').pathname
    if (request.method !== 'GET') told.push(`${request.method} ${path}`)
    const items = lists[path]
    const body =
      items === undefined ? 'OK\n' : JSON.stringify({ items, pager: { page: 0, count: items.length } })
    response.writeHead(200, { connection: 'close' }).end(body)
  })
  servers.push(server)
  return (await listen(server)).url
}

function putTheirs(): void {
  for (const [name, text] of Object.entries(THEIRS)) writeFileSync(join(configDir, name), text)
}

function filesNow(): Readonly<Record<string, string>> {
  const names = readdirSync(configDir, { withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(names.map(({ name }) => [name, readFileSync(join(configDir, name), 'utf8')]))
}

async function node(settings: object, containers: object = { mme: 'mme', smf: 'smf' }): Promise<Service> {
  const file = join(folder, 'control.yaml')
  const pdn = [{ apn: 'internet', ebi: 5, bearer_count: 1, pdu_state: 'active' }]
  const phone = { supi: IMSI, cm_state: 'connected', mm_state: 'registered', pdn, pdn_count: 1 }
  const mmeUrl = await daemon({ '/ue-info': [phone], '/enb-info': [] })
  const smfUrl = await daemon({ '/pdu-info': [] })
  const config = {
    hss: { engine_socket: engine.socket },
    core_a: {
      config_dir: configDir,
      mme_url: mmeUrl,
      smf_url: smfUrl,
      containers,
    },
    ...settings,
  }
  writeFileSync(file, JSON.stringify(config))
  return await startService({ flags: ['--config', file] })
}

async function detailOf(service: Service, name: string): Promise<string> {
  const { body } = await service.request('GET', '/v1/health')
  return body.components.find((one: { name: string }) => one.name.endsWith(name))?.detail ?? ''
}

for (const [core, driver, database] of [
  ['core_a', 'docdb_shell', 'open5gs'],
  ['core_b', 'core_b', 'free5gc'],
] as const)
  foreign(
    `is only looked at under southbound.driver none: no write, no kick, no restart (${core})`,
    async () => {
      putTheirs()
      await mongo.clear()
      const slice = [{ sst: new Int32(1), session: [{ name: 'corp', type: new Int32(1) }] }]
      await mongo.subscribers.insertOne({ imsi: IMSI, security: { k: '0' }, slice, msisdn: ['4711'] })
      await mongo.subscribers.insertOne({ imsi: '999990000000778', imeisv: '8665070400405303' })
      const before = JSON.stringify(await mongo.subscribers.find().toArray())
      const watched = await startWatchedDatabase(mongo.port)
      const service = await node({
        core,
        hss: { driver, mongo_url: `${watched.url}/${database}`, engine_socket: engine.socket },
        sims: { drift_interval: '1s', attach_interval: '1s' },
        collector: { enabled: true },
      })
      try {
        if (core === 'core_a')
          await eventually(async () =>
            assert.match(
              await detailOf(service, 'sessions'),
              /1 attached phone has no session.*1 of them is not of SIMs of this service.*southbound\.driver is none/,
            ),
          )
        const from = watched.reads
        await eventually(() => assert.ok(watched.reads > from + 8))
        assert.equal([watched.writes, told, engine.restarts], [[], [], []])
        assert.is(JSON.stringify(await mongo.subscribers.find().toArray()), before)
        assert.equal(filesNow(), THEIRS)
      } finally {
        await service.stop()
        await watched.close()
      }
    },
    LIMIT,
  )

foreign(
  'is taken over once its files are named and agreed to, and given back by one command',
  async () => {
    putTheirs()
    const service = await node(
      { southbound: { driver: 'container' }, hss: { driver: 'none', engine_socket: engine.socket } },
      // Of daemons that are there it would ask more than that they run.
      {},
    )
    const svc = (...args: readonly string[]) =>
      runSvc(['core', ...args], { SVC_URL: service.url, SVC_TOKEN: service.adminToken })
    try {
      await eventually(async () =>
        assert.match(
          await detailOf(service, '.core'),
          /did not write mme\.yaml, smf\.yaml .* svc core take-over/,
        ),
      )
      assert.equal([filesNow(), engine.restarts], [THEIRS, []])
      const asked = await svc('take-over')
      assert.is(asked.code, 1)
      assert.match(asked.stderr, /mme\.yaml\n {2}smf\.yaml\n/)
      assert.equal(filesNow(), THEIRS)
      const agreed = await svc('take-over', '--yes')
      assert.is(agreed.code, 0, agreed.stderr)
      await eventually(async () =>
        assert.match(await detailOf(service, '.core'), /kept in .*core-originals\/core_a/),
      )
      assert.match(filesNow()['mme.yaml'] ?? '', /Written by Steeple/)
      const back = await svc('restore-original')
      assert.is(back.code, 0, back.stderr + back.stdout)
      const { '.steeple.json': _, ...files } = filesNow()
      assert.equal(files, THEIRS)
      await eventually(async () => assert.match(await detailOf(service, '.core'), /did not write mme\.yaml/))
      const { body } = await service.request('GET', '/v1/audit?limit=50')
      const actions = body.entries.map(({ action }: { action: string }) => action)
      assert.ok(
        actions.includes('core.take_over') && actions.includes('core.restore_original'),
        actions.join(),
      )
    } finally {
      await service.stop()
    }
  },
  LIMIT,
)

foreign(
  'has its subscribers taken over without a write, and left to it by one command',
  async () => {
    putTheirs()
    await mongo.clear()
    await mongo.subscribers.insertMany([byWebUi, byHand, blockedByHand])
    const before = await everything()
    const watched = await startWatchedDatabase(mongo.port)
    const service = await node({
      hss: { driver: 'docdb_shell', mongo_url: `${watched.url}/open5gs`, engine_socket: engine.socket },
      sims: { drift_interval: '1s', attach_interval: '1s' },
    })
    const svc = (...args: readonly string[]) =>
      runSvc(args, { SVC_URL: service.url, SVC_TOKEN: service.adminToken })
    try {
      const listed = await svc('sim', 'foreign', '--json')
      assert.is(listed.code, 0, listed.stderr)
      const { subscribers } = JSON.parse(listed.stdout)
      assert.equal(
        subscribers.map((one: { can_adopt: boolean }) => one.can_adopt),
        [true, true, true],
      )
      const asked = await svc('sim', 'adopt', '--all')
      assert.match(asked.stdout, /would adopt\s+3/, asked.stderr)
      assert.match(asked.stderr, /--yes/)
      assert.equal((await service.request('GET', '/v1/sims')).body.sims, [])
      const done = await svc('sim', 'adopt', '--all', '--yes')
      assert.is(done.code, 0, done.stderr + done.stdout)
      assert.match(done.stdout, /adopted\s+3\nunchanged in the core\s+3/)
      assert.not.match(listed.stdout + asked.stdout + done.stdout, /99999\d{10}|[0-9a-f]{32}/)
      const { sims } = (await service.request('GET', '/v1/sims')).body
      assert.equal(
        sims
          .map((one: { state: string; apns: object; msisdn: string }) => [one.state, one.apns, one.msisdn])
          .toSorted(),
        [
          ['issued', ['corp', 'internet'], '491700000781'],
          ['issued', ['internet'], null],
          ['suspended', ['internet', 'ims'], null],
        ],
      )
      // Compared every second from now on.
      const from = watched.reads
      await eventually(() => assert.ok(watched.reads > from + 8))
      assert.equal([watched.writes, await everything()], [[], before])
      const released = await svc('core', 'release', '--yes')
      assert.is(released.code, 0, released.stderr + released.stdout)
      assert.match(released.stdout, /subscribers\s+3\nblocked\s+1\nrates\s+0/)
      // The service's own list of what it wrote is of the test before.
      const { '.steeple.json': _, ...files } = filesNow()
      assert.equal([watched.writes, await everything(), files], [[], before, THEIRS])
      assert.match(readFileSync(join(folder, 'control.yaml'), 'utf8'), /"?driver"?: "?none/)
      await eventually(async () => assert.match(await detailOf(service, 'provisioning'), /^none: /))
      assert.is((await service.request('GET', '/v1/sims')).body.sims.length, 3)
    } finally {
      await service.stop()
      await watched.close()
    }
  },
  LIMIT,
)

const n = (value: number): Double => new Double(value)
const bps = { uplink: '500 Mbps', downlink: '1000 Mbps' }
/** As the web console of free5GC stores one, collection by collection. */
const byWebConsole = (imsi: string): Readonly<Record<string, object>> => {
  const own = { ueId: `imsi-${imsi}`, tenantId: 'harbour' }
  const inPlmn = { ...own, servingPlmnId: '99999' }
  const snssai = { sst: n(1), sd: '0A0B0C' }
  return {
    'subscriptionData.authenticationData.authenticationSubscription': {
      ...{ ...own, authenticationMethod: '5G_AKA', authenticationManagementField: '8000' },
      ...{ encPermanentKey: byHand.security.k, encOpcKey: byHand.security.opc },
      sequenceNumber: { sqnScheme: 'GENERAL', sqn: '000000000023' },
    },
    'subscriptionData.provisionedData.amData': {
      ...{ ...inPlmn, gpsis: [`msisdn-4917${imsi.slice(-6)}`], nssai: { defaultSingleNssais: [snssai] } },
      ...{ subscribedUeAmbr: { uplink: '1 Gbps', downlink: '2 Gbps' }, house: 'harbour 4' },
    },
    'subscriptionData.provisionedData.smfSelectionSubscriptionData': {
      ...inPlmn,
      subscribedSnssaiInfos: { '010A0B0C': { dnnInfos: [{ dnn: 'internet' }] } },
    },
    'subscriptionData.provisionedData.smData': {
      ...{ ...inPlmn, singleNssai: snssai },
      dnnConfigurations: {
        internet: {
          sessionAmbr: bps,
          staticIpAddress: [{ ipv4Addr: '10.60.0.7' }],
          '5gQosProfile': { '5qi': n(9) },
        },
      },
    },
    'policyData.ues.amData': { ...own, subscCats: ['free5gc'] },
    'policyData.ues.smData': {
      ...own,
      smPolicySnssaiData: { '010A0B0C': { snssai, smPolicyDnnData: { internet: { dnn: 'internet' } } } },
    },
  }
}

const executable = findBrowser()
if (executable !== undefined)
  foreign(
    'shows in the console whom free5GC has, and takes them over there without a write',
    async () => {
      await mongo.clear()
      const client = await new MongoClient(mongo.url).connect()
      const database = client.db('free5gc')
      for (const imsi of ['999990000000791', '999990000000792'])
        for (const [name, doc] of Object.entries(byWebConsole(imsi)))
          await database.collection(name).insertOne(doc)
      const all = async (): Promise<string> => {
        const names = Object.keys(byWebConsole('0')).toSorted()
        const docs = await Promise.all(names.map((name) => database.collection(name).find().toArray()))
        return EJSON.stringify(docs, { relaxed: false })
      }
      const before = await all()
      const watched = await startWatchedDatabase(mongo.port)
      const service = await node({
        core: 'core_b',
        hss: { driver: 'core_b', mongo_url: `${watched.url}/free5gc`, engine_socket: engine.socket },
        sims: { drift_interval: '1s' },
      })
      const browser = await openBrowser(executable)
      try {
        await eventually(async () => {
          const { body } = await service.request('GET', '/v1/status')
          assert.is(body.foreign_subscribers, 2)
        })
        const { page } = await browser.open(`${service.url}/`)
        await signInWithToken(page, service.adminToken)
        await page.getByRole('link', { name: '2 subscribers of the core are not yours yet' }).click()
        await page.getByRole('heading', { level: 1, name: 'Subscribers of the core' }).waitFor()
        await eventually(async () => assert.is(await page.getByText('1-0A0B0C: internet').count(), 2))
        await page.getByLabel('All of them').first().check()
        await page.getByRole('button', { name: 'Try' }).click()
        await page.getByText('2 subscribers would be taken over.').waitFor()
        assert.equal((await service.request('GET', '/v1/sims')).body.sims, [])
        await page.getByRole('button', { name: 'Take over 2 subscribers' }).click()
        await page
          .getByText('2 subscribers compared afterwards: the core holds the same as before.')
          .waitFor()
        await page.getByText('Every subscriber of the core is yours.').waitFor()
        const from = watched.reads
        await eventually(() => assert.ok(watched.reads > from + 20))
        assert.equal([watched.writes, await all()], [[], before])
        const { sims } = (await service.request('GET', '/v1/sims')).body
        assert.equal(sims.map((one: { apns: object; msisdn: string }) => [one.apns, one.msisdn]).toSorted(), [
          [['internet'], '4917000791'],
          [['internet'], '4917000792'],
        ])
      } finally {
        await browser.close()
        await service.stop()
        await watched.close()
        await client.close()
      }
    },
    LIMIT,
  )

foreign.run()
