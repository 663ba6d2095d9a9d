import { mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { assert, enterOwnMounts, eventually, suite } from '@steeple/testkit'
import { type AlertsWitness, alertsWitness } from '../harness/alerts-witness.ts'
import { type Launched, urlOf } from '../harness/launch.ts'
import { ask, type Root } from '../harness/node-client.ts'
import { type Air, openAir } from '../harness/radio/air.ts'
import { OPEN } from '../harness/radio/box.ts'
import { type Answer, startedProcesses } from '../harness/service.ts'
import { memoryDisk, type SmallDisk } from '../harness/small-disk.ts'
import { openWorkshop, type Pair, type Workshop } from '../harness/tls-witness.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../harness/webhook-receiver.ts'

enterOwnMounts(import.meta.filename)

/*
 * The built-in rules about the box, each fired and ended by what it is about: its disk, the certificate that it presents, its
 * transmitter, and an agent with its heartbeats. Those about the network: alerts-rules.
 */
const rules = suite('e2e/alerts-rules-box', { limitMs: 900_000 })
const ADMIN = 'alerts-rules-box-admin-token-0123456789'
const DISK_MIB = 256
const BEAT_MS = 1_000
const started = startedProcesses()
const folder = mkdtempSync(join(tmpdir(), 'steeple-alerts-box-'))
let receiver: WebhookReceiver
let workshop: Workshop
let authority: Pair
let disk: SmallDisk
let air: Air
let service: Launched
let root: Root
let seen: AlertsWitness

const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(root, method, path, body, { token: ADMIN })

async function must(method: string, path: string, body?: unknown): Promise<Answer['body']> {
  const answer = await admin(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** A certificate that ends in so many days, where the listener looks for its own. */
function certify(days: number): void {
  const extensions = ['subjectAltName=IP:127.0.0.1', 'extendedKeyUsage=serverAuth']
  workshop.leaf('listener', authority, extensions, ['-days', String(days)])
}

function configure(): string {
  const profile = { technology: 'lte', channel: 3350, bandwidth_mhz: 5, tx_gain_db: 40 }
  const webhooks = [
    { name: 'ops', url: receiver.url, secret_file: join(folder, 'secret'), allow_private: true },
  ]
  const path = join(folder, 'control.yaml')
  const config = {
    server: { mode: 'rf', country: 'DE' },
    hss: { driver: 'none' },
    tls: {
      enabled: true,
      cert_file: join(workshop.folder, 'listener.pem'),
      key_file: join(workshop.folder, 'listener.key'),
    },
    ran: {
      binary: air.binary,
      device_name: 'uhd',
      device_args: `serial=${process.pid}`,
      profiles: { mast: profile },
    },
    alerts: { enabled: true, interval: '1s', webhooks },
  }
  // JSON is YAML.
  writeFileSync(path, JSON.stringify(config))
  return path
}

async function certificates(): Promise<void> {
  const expiring = await seen.fires('certificate_expiring', 'tls.cert_file')
  assert.match(expiring.message, /tls\.cert_file ends in \d+(\.\d+)? days/)
  certify(1)
  const expired = await seen.fires('certificate_expired', 'tls.cert_file')
  certify(30)
  await seen.ends(expired)
  await seen.ends(expiring)
}

async function fillings(): Promise<void> {
  const filler = join(disk.path, 'filler')
  const fillUpTo = (free: number): void => {
    const { bavail, blocks, bsize } = statfsSync(disk.path)
    writeFileSync(filler, Buffer.alloc(Math.floor((bavail - free * blocks) * bsize), 1), { flag: 'a' })
  }
  fillUpTo(0.07)
  const low = await seen.fires('disk_low', 'disk')
  fillUpTo(0.02)
  const full = await seen.fires('disk_almost_full', 'disk')
  assert.match(full.message, /^The disk is full: [12](\.\d)? % of the file system of .* is free$/)
  rmSync(filler)
  await seen.ends(full)
  await seen.ends(low)
}

async function transmissions(): Promise<void> {
  const arm = { arm: true, profile_id: 'mast' }
  await must('PUT', '/v1/policy', OPEN)
  await eventually(async () => assert.is((await admin('POST', '/v1/tx/arm', arm)).status, 200))
  await air.isOn()
  await must('PUT', '/v1/policy', { spectrum: { license: { acknowledged: false } } })
  const disarmed = await seen.fires('tx_auto_disarmed', 'tx')
  assert.match(disarmed.message, /profile mast/)
  await must('PUT', '/v1/policy', OPEN)
  await eventually(async () => assert.is((await admin('POST', '/v1/tx/arm', arm)).status, 200))
  await seen.ends(disarmed)
  await must('POST', '/v1/tx/arm', { arm: false })
}

async function beats(): Promise<void> {
  const { node_id: id } = await must('GET', '/v1/status')
  const node = `node/${id}`
  let seq = 0
  /** Beats, its clock off by so much, until that has come true. */
  const beatsUntil = async <T>(isTrue: Promise<T>, offMs: number, status: string): Promise<T> => {
    const ends = new AbortController()
    const end = (): void => ends.abort()
    void isTrue.then(end, end)
    while (!ends.signal.aborted) {
      seq += 1
      const at = new Date(Date.now() + offMs).toISOString()
      const components = [{ name: 'radio', status, detail: 'as its driver says' }]
      await must('POST', '/v1/telemetry', { node_id: id, at, seq, components })
      await wait(BEAT_MS)
    }
    return await isTrue
  }
  const both = Promise.all([seen.fires('clock_skew', node), seen.fires('component_down', `${node}/radio`)])
  const [skew, down] = await beatsUntil(both, -60_000, 'down')
  assert.match(down.message, /^The box .+ is not well: radio: as its driver says/)
  await beatsUntil(Promise.all([seen.ends(skew), seen.ends(down)]), 0, 'ok')
  const stale = await seen.fires('heartbeat_stale', node)
  await beatsUntil(seen.ends(stale), 0, 'ok')
}

/** What is done to the box, each until all of it is well again. */
const STORIES: ReadonlyMap<string, () => Promise<void>> = new Map([
  ['tell of a certificate that ends soon and of one that ends today', certificates],
  ['tell of a disk that is filled, before it is full', fillings],
  ['tell of a transmitter that lost its legal basis, until somebody arms it again', transmissions],
  ['tell of an agent whose clock is off, whose component is down, and who is silent', beats],
])
const told = new Map<string, Promise<void>>()

rules.before(async () => {
  receiver = await startWebhookReceiver(join(folder, 'secret'), () => 'take')
  workshop = openWorkshop()
  authority = workshop.ca('alerts')
  certify(10)
  disk = memoryDisk(DISK_MIB)
  air = await openAir(folder)
  const data = join(disk.path, 'data')
  const flags = ['--first-start', '--data-dir', data, '--listen', '127.0.0.1:0', '--config', configure()]
  service = started.launch(flags, { env: { SVC_ADMIN_TOKEN: ADMIN } })
  const { port } = new URL(await urlOf(service))
  root = { port: Number(port), ca: readFileSync(authority.cert, 'utf8'), adminToken: ADMIN }
  seen = alertsWitness((path) => admin('GET', path), receiver)
  // Most of each story is waiting, so they go on beside each other.
  for (const [title, tell] of STORIES) {
    const story = tell()
    // Its test reports it.
    story.catch(() => undefined)
    told.set(title, story)
  }
})

rules.after(async () => {
  started.endAll()
  await service?.exited
  air?.close()
  await receiver?.close()
  workshop?.remove()
  disk?.remove()
  rmSync(folder, { recursive: true, force: true })
})

for (const title of STORIES.keys()) rules(title, async () => await told.get(title))

rules('have told of each beginning and each end once', async () => {
  await eventually(async () => {
    const { webhooks } = await must('GET', '/v1/alerts/webhooks')
    assert.is(webhooks[0].waiting, 0)
  })
  await seen.judge()
})

rules.run()
