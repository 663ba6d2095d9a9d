import { randomInt } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, listen, suite } from '@steeple/testkit'
import { about } from '../harness/builds/program.ts'
import { filesOf, type Place, processPlaces } from '../harness/canary/files.ts'
import { found, type Needle, textNeedle } from '../harness/canary/needles.ts'
import { textOf, whereFound } from '../harness/canary/search.ts'
import { imsiHashOf } from '../harness/hss/sims.ts'
import { ANY_PORTS, type LabProcess, labPhones, startLabCore } from '../harness/lab-core.ts'
import { ROOT } from '../harness/launch.ts'
import { exportedCards, type Service, startService } from '../harness/service.ts'

/** How a source answers: as it is, cut off in the middle, with an error page that repeats all, or with what is no JSON. */
type Mood = 'well' | 'torn' | 'failing' | 'nonsense'

/** A source between a core and who asks it, which can be made to answer badly. */
interface TalkativeProxy {
  readonly url: string
  mood: Mood
  close(): Promise<void>
}

/** `answer` gives the body for a path with its query. */
async function startTalkativeProxy(answer: (path: string) => Promise<string>): Promise<TalkativeProxy> {
  const proxy = { mood: 'well' as Mood }
  const server = createServer((request, response) => {
    answer(request.url ?? '/').then(
      (body) => {
        const type = { 'content-type': 'application/json' }
        if (proxy.mood === 'failing') response.writeHead(500, type).end(`cannot serve ${body}`)
        else if (proxy.mood === 'nonsense') response.writeHead(200, type).end(`{"said": ${body}} and ${body}`)
        else if (proxy.mood === 'torn') response.writeHead(200, type).end(body.slice(0, -20))
        else response.writeHead(200, type).end(body)
      },
      () => response.writeHead(502).end(),
    )
  })
  return Object.assign(proxy, await listen(server))
}

/*
 * Every collector reads IMSIs, or addresses of those who have one. Cores that work and cores that answer with everything but
 * what was asked tell them; they are searched in what the service prints at debug level, answers, counts and stores, and in the
 * command lines and environments of its helpers.
 */
const canary = suite('e2e/canary-collectors')
const SIMS = 3
/** GTP-U has a port of its own; nobody else has this address. */
const SGWU = '127.0.66.6'
const MOODS: readonly Mood[] = ['torn', 'failing', 'nonsense']
/** The subscriber of the recorded charging files. */
const RECORDED_IMSI = '999990000000001'
const RECORDS = join(ROOT, 'packages/collector-cdr/test/fixtures')
const COMMON = {
  SVC_COLLECTOR_ENABLED: 'true',
  SVC_COLLECTOR_INTERVAL: '250ms',
  SVC_FAIRUSE_ENABLED: 'true',
}
const PATIENT = { limitMs: 300_000 }

const folder = mkdtempSync(join(tmpdir(), 'steeple-canary-collectors-'))
const secrets: Needle[] = []
let service: Service | undefined
let lab: LabProcess | undefined
let proxy: TalkativeProxy | undefined

canary.after.each(async () => {
  await service?.kill()
  await lab?.stop()
  await proxy?.close()
  service = undefined
  lab = undefined
  proxy = undefined
})
canary.after(() => rmSync(folder, { recursive: true, force: true }))

about(['driver-core-a', 'driver-hss'], canary)(
  'finds no IMSI of an Open5GS core and its tap',
  async () => {
    const capture = join(folder, 'lab.pcap')
    const dataDir = join(folder, 'open5gs')
    const ends = ['--sgwu', `${SGWU}:2152`, '--enb', '127.0.66.33:2152', '--capture', capture]
    const core = await startLabCore(join(folder, 'lab-core'), [...ANY_PORTS, ...ends])
    lab = core
    const asked = async (path: string) => await (await fetch(core.urls.mme + path)).text()
    proxy = await startTalkativeProxy(asked)
    const tap = {
      SVC_COLLECTOR_UPF_ENABLED: 'true',
      SVC_COLLECTOR_UPF_DRIVER: 'file',
      SVC_COLLECTOR_UPF_FILE: capture,
      SVC_COLLECTOR_UPF_CORE_ADDRESSES: SGWU,
    }
    const env = {
      ...core.env,
      ...COMMON,
      ...tap,
      SVC_COLLECTOR_MME_URL: proxy.url,
      SVC_CORE_A_MME_URL: proxy.url,
    }
    const running = await startService({ dataDir, env, flags: ['--log-level', 'debug'] })
    service = running
    await movingPhones(running, core, dataDir)
    await everyMood(running, proxy, 'collectors.collector-mme')
    const helpers = processPlaces(running.child.pid ?? 0)
    assert.ok(helpers.commandLines.length > 1, 'the tap has a process of its own')
    for (const { name, content } of [...helpers.commandLines, ...helpers.environments])
      assert.equal(found(secrets, content), [], name)
    await searchEverything(running, dataDir)
  },
  PATIENT,
)

about(['driver-core-b'], canary)(
  'finds no IMSI of a free5GC core and its charging files',
  async () => {
    const imsi = `99999${String(randomInt(10 ** 10)).padStart(10, '0')}`
    secrets.push(textNeedle('the IMSI of the AMF', imsi), textNeedle('the recorded IMSI', RECORDED_IMSI))
    const dataDir = join(folder, 'free5gc')
    const records = join(folder, 'cdr')
    mkdirSync(records)
    copyFileSync(join(RECORDS, '2update.cdr'), join(records, `imsi-${RECORDED_IMSI}.cdr`))
    proxy = await startTalkativeProxy(async (path) =>
      path.includes('registered-ue-context') ? registered(imsi) : sessionOf(imsi),
    )
    const config = join(folder, 'control.yaml')
    // JSON is YAML.
    const urls = { amf_oam_url: proxy.url, smf_oam_url: proxy.url, cdr_dir: records }
    writeFileSync(config, JSON.stringify({ core: 'core_b', core_b: urls }))
    const env = { ...COMMON, SVC_HSS_DRIVER: 'none' }
    const running = await startService({ dataDir, env, flags: ['--log-level', 'debug', '--config', config] })
    service = running
    await eventually(async () =>
      /svc_collectors_records_total\{[^}]*collector-cdr[^}]*volume[^}]*\} [1-9]/.test(
        await textOf(running, '/metrics'),
      ),
    )
    await everyMood(running, proxy, 'collectors.collector-amf')
    // What is no charging record, under the names that a CHF gives.
    writeFileSync(join(records, `imsi-${imsi}.cdr`), `torn ${imsi} ${RECORDED_IMSI}`)
    writeFileSync(join(records, `imsi-${RECORDED_IMSI}.cdr`), RECORDED_IMSI.repeat(20))
    await eventually(async () => {
      const text = await textOf(running, '/v1/health')
      return !/"collectors\.collector-cdr"[^}]*"status":"ok"/.test(text)
    }, 20_000).catch(() => undefined)
    await searchEverything(running, dataDir)
  },
  PATIENT,
)

canary.run()

/** SIMs in phones of the lab core that move octets; their IMSIs are looked for from now on. */
async function movingPhones(running: Service, core: LabProcess, dataDir: string): Promise<void> {
  const { body } = await running.request('POST', '/v1/sims', {
    body: { count: SIMS, quota_bytes: 1_000_000 },
  })
  const cards = await exportedCards(dataDir, body.batch_id, core.env)
  for (const { imsi } of JSON.parse(cards) as { imsi: string }[]) secrets.push(textNeedle('an IMSI', imsi))
  assert.is(secrets.length, SIMS)
  // The search itself is tried on what must be there.
  assert.is(found(secrets, Buffer.from(cards)).length, SIMS)
  await eventually(async () =>
    (await running.request('GET', '/v1/sims')).body.sims.every(
      (sim: { provisioning: { status: string } }) => sim.provisioning.status === 'synced',
    ),
  )
  const { control } = core.urls
  await labPhones(control, 'POST', '/phones', cards)
  await eventually(async () => (await running.request('GET', '/v1/sessions')).body.sessions.length >= SIMS)
  await eventually(async () => {
    await labPhones(control, 'POST', '/phones/all/data', '{"up_bytes": 3000, "down_bytes": 20000}')
    const { sessions } = (await running.request('GET', '/v1/sessions')).body
    return sessions.some((session: { down_bytes: number }) => session.down_bytes > 0)
  })
}

/** The AMF's list of one phone. */
function registered(imsi: string): string {
  const session = { PduSessionId: '1', SmContextRef: 'urn:uuid:1', Sst: '1', Sd: '010203', Dnn: 'internet' }
  const phone = { Supi: `imsi-${imsi}`, Guti: '99970cafe0000000001', Mcc: '999', Mnc: '70', Tac: '000007' }
  return JSON.stringify([
    { AccessType: '3GPP_ACCESS', ...phone, PduSessions: [session], CmState: 'CONNECTED' },
  ])
}

/** The SMF's answer of its session. */
function sessionOf(imsi: string): string {
  return JSON.stringify({ Supi: `imsi-${imsi}`, PDUSessionID: '1', Dnn: 'internet', PDUAddress: '10.60.0.1' })
}

/** Has a source answer in every way, and waits until that is seen and until it is well again. */
async function everyMood(running: Service, source: TalkativeProxy, component: string): Promise<void> {
  const isWell = async () => (await statusOf(running, component)) === 'ok'
  for (const mood of MOODS) {
    source.mood = mood
    await eventually(async () => !(await isWell()), 60_000)
    source.mood = 'well'
    await eventually(isWell, 60_000)
  }
}

async function statusOf(running: Service, component: string): Promise<string | undefined> {
  const { body } = await running.request('GET', '/v1/health')
  return body.components.find(({ name }: { name: string }) => name === component)?.status
}

async function searchEverything(running: Service, dataDir: string): Promise<void> {
  const hashes = (await running.request('GET', '/v1/sims')).body.sims.map(
    (sim: { imsi_sha256_12: string }) => sim.imsi_sha256_12,
  )
  const recorded = imsiHashOf(RECORDED_IMSI)
  const usage = [...hashes, recorded].map((hash: string) => `/v1/sims/${hash}/usage?step=hour`)
  const paths = [
    '/metrics',
    '/v1/health',
    '/v1/status',
    '/v1/sessions',
    '/v1/sessions?state=ended',
    '/v1/audit',
    '/v1/plugins',
    ...usage,
  ]
  const places: Place[] = []
  for (const path of paths) places.push({ name: path, content: Buffer.from(await textOf(running, path)) })
  const hasStopped = await running.stop()
  assert.is(hasStopped, 0)
  service = undefined
  const log = running.output()
  places.push(...filesOf(dataDir, ['keys']), { name: 'the log', content: Buffer.from(log) })
  assert.match(log, '"level":"debug"', 'the log is at debug level')
  assert.ok(log.length > 5_000, `${log.length} characters of a log`)
  assert.equal(whereFound(secrets, places), [])
}
