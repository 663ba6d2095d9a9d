import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { coreInForce, startCore, type TestCore } from '../containers/core-containers.ts'
import { startDatabase, type TestDatabase } from '../containers/database.ts'
import { startPodman } from '../containers/engine.ts'
import { startMongoContainer } from '../containers/mongo-container.ts'
import { enterOwnMachine, machineFolder } from '../containers/own-machine.ts'
import { allSynced, canonical, type KnownCard, wantedDocument } from '../containers/provisioning.ts'
import { imsiHashOf } from '../harness/hss/sims.ts'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/** How often the HSS looks at its change stream, ms. */
const STREAM_MS = 100

/** Phones of the test core, as the recordings show them, and the HSS that serves them from the database. */
interface Phones {
  /** One attach. `refused`: the HSS does not know it, or it has no slice; nothing is listed then. */
  attach(imsi: string): Promise<'attached' | 'refused'>
  /** Whether the core has a session of it. */
  isOn(imsi: string): boolean
  close(): void
}

/** Puts the HSS and the phones between the database and the lists of MME and SMF. */
function startPhones(core: TestCore, database: TestDatabase): Phones {
  const subscribers = database.collection('open5gs', 'subscribers')
  const [attached, detached] = [
    recorded('mme-ue-info.attached-connected'),
    recorded('mme-ue-info.after-detach'),
  ]
  const session = recorded('smf-pdu-info.attached-4g')
  const phones = new Map<string, boolean>()
  const show = (): void => {
    const entries = [...phones]
    core.show(
      'ue-info',
      // Whoever was seen once stays in the list.
      entries.map(([supi, isOn]) => ({ ...(isOn ? attached : detached), supi })),
    )
    core.show(
      'pdu-info',
      entries.filter(([, isOn]) => isOn).map(([imsi]) => ({ ...session, supi: `imsi-${imsi}` })),
    )
  }
  const cancelled = new Set<string>()
  /** What the real one does by its change stream: a request that was not there before cancels the location. */
  const look = async (): Promise<void> => {
    const found = await subscribers.find({ request_cancel_location: true }).toArray()
    const now = found.map(({ imsi }) => String(imsi))
    const fresh = now.filter((imsi) => !cancelled.has(imsi))
    cancelled.clear()
    for (const imsi of now) cancelled.add(imsi)
    const off = fresh.filter((imsi) => phones.get(imsi) === true)
    for (const imsi of off) phones.set(imsi, false)
    if (off.length > 0) show()
  }
  const timer = setInterval(() => void look().catch(() => undefined), STREAM_MS)
  show()
  return {
    attach: async (imsi) => {
      const doc = await subscribers.findOne({ imsi })
      if (doc?.security?.k === undefined || doc.slice?.length !== 1) return 'refused'
      phones.set(imsi, true)
      show()
      return 'attached'
    },
    isOn: (imsi) => phones.get(imsi) === true,
    close: () => clearInterval(timer),
  }
}

function recorded(name: string): object {
  const text = readFileSync(join(ROOT, `lab/lab-core/fixtures/${name}.json.txt`), 'utf8')
  // Recorded in another network than the one that the tests configure: phones of a foreign one do not count.
  return JSON.parse(text.replaceAll('"99970"', '"99999"')).items[0]
}

enterOwnMachine(import.meta.filename)

/*
 * The main job from the first boot to the last SIM, as an operator does it: the built binary, REST and the command line;
 * a core of seven containers, a database with mongosh in an eighth. Each test goes on where the one before ended.
 */
const scenario = suite('e2e/scenario')
const PATIENCE_MS = 180_000
const SIMS = 100
const STORY = [
  'policy.create ok',
  'core.config_apply ok',
  'policy.update ok',
  'core.config_apply ok',
  'tx.arm failed',
  'tx.arm failed',
  'sim.issue ok',
  'sim.issue denied',
  'sim.attach the SIM ok',
  'sim.suspend the SIM ok',
  'sim.resume the SIM ok',
  'sim.revoke the SIM ok',
]
const [engine, database] = await Promise.all([startPodman(), startDatabase()])
const core = await startCore(engine)
await startMongoContainer(engine)
const phones = startPhones(core, database)
const subscribers = database.collection('open5gs', 'subscribers')
// In memory, as all of this machine: nothing is left of it, however this ends.
const folder = machineFolder()
const dataDir = join(folder, 'data')
const configFile = join(folder, 'control.yaml')
let service: Service
let cards: readonly KnownCard[] = []
let first: KnownCard
let hash: string

/** `svc …` against the service; fails when it does. */
async function svc(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const { code, stdout, stderr } = await cli(...args)
  assert.is(code, 0, stderr)
  return JSON.parse(stdout)
}

function cli(...args: readonly string[]): ReturnType<typeof runSvc> {
  return runSvc([...args, '--json'], { SVC_URL: service.url, SVC_TOKEN: service.adminToken })
}

async function sim(): Promise<Readonly<Record<string, unknown>>> {
  return await svc('sim', 'show', hash)
}

/** How many phones the product knows to be on. */
async function attachedPhones(): Promise<number> {
  return (await service.request('GET', '/v1/status')).body.ue.attached
}

/** Waits until the core got its configuration so many times. */
async function coreApplied(times: number): Promise<void> {
  await eventually(async () => {
    const { body } = await service.request('GET', '/v1/audit?action=core.config_apply')
    return body.entries.length === times
  }, PATIENCE_MS)
}

scenario.before(() => {
  const profile = { technology: 'lte', channel: 3350, bandwidth_mhz: 10, eirp_dbm: 10 }
  const config = {
    southbound: { driver: 'container' },
    hss: { engine_socket: engine.socket },
    core_a: { config_dir: core.configDir, containers: core.containers },
    ran: { profiles: { cell: profile } },
    sims: { attach_interval: '1s' },
  }
  writeFileSync(configFile, JSON.stringify(config))
})

scenario.after(async () => {
  phones.close()
  await service?.stop()
  await database.close()
  await engine.close()
})

scenario(
  'boots for the first time and brings a core up',
  async () => {
    service = await startService({ dataDir, flags: ['--config', configFile] })
    await coreInForce(service, PATIENCE_MS)
    let health: unknown
    await eventually(async () => {
      const { body } = await service.request('GET', '/v1/health')
      health = body.components.filter(({ status }: { status: string }) => status !== 'ok')
      return body.status === 'ok'
    }, PATIENCE_MS).catch((cause) => {
      throw new Error(JSON.stringify(health), { cause })
    })
  },
  { limitMs: 2 * PATIENCE_MS },
)

scenario(
  'takes a policy, and the core with it',
  async () => {
    const bundle = await svc('policy', 'set', 'rate_limits.sim_issue_per_hour=100', 'apns=["internet"]')
    assert.equal(bundle.apns, ['internet'])
    const { body } = await service.request('GET', '/v1/policy')
    assert.is(body.rate_limits.sim_issue_per_hour, 100)
    // One APN in place of two: SMF and UPF serve no other now.
    await coreApplied(2)
    await coreInForce(service, PATIENCE_MS)
  },
  { limitMs: 2 * PATIENCE_MS },
)

scenario('does not transmit in the lab, and says why', async () => {
  const { status, body } = await service.request('POST', '/v1/tx/arm', {
    body: { arm: true, profile_id: 'cell' },
  })
  assert.is(status, 409)
  assert.is(body.error.code, 'tx_gate_closed')
  for (const gate of ['country-code', 'license', 'allow-list']) assert.match(JSON.stringify(body.error), gate)
  const { code, stderr } = await cli('tx', 'arm', 'cell')
  assert.is.not(code, 0)
  assert.match(stderr, /tx_gate_closed/)
  assert.is((await svc('tx', 'status')).armed, false)
})

scenario(
  'issues 100 SIMs, which the core knows byte for byte',
  async () => {
    const issued = await svc('sim', 'issue', '--count', String(SIMS), '--label', 'first hundred')
    const more = await service.request('POST', '/v1/sims', { body: {} })
    assert.is(more.status, 429, 'the policy allows a hundred an hour')
    await allSynced(service, PATIENCE_MS)
    const exported = await runSvc([
      'sim',
      'export',
      String(issued.batch_id),
      '--format=json',
      '--data-dir',
      dataDir,
    ])
    assert.is(exported.code, 0, exported.stderr)
    cards = JSON.parse(exported.stdout)
    assert.is(cards.length, SIMS)
    assert.is(Number(await subscribers.countDocuments()), SIMS)
    for (const card of cards) {
      assert.is(canonical(await subscribers.findOne({ imsi: card.imsi })), wantedDocument(card))
    }
    const [card] = cards
    assert.ok(card)
    first = card
    hash = imsiHashOf(first.imsi)
    assert.is((await sim()).state, 'issued')
  },
  { limitMs: PATIENCE_MS },
)

scenario(
  'sees a phone attach',
  async () => {
    assert.is(await phones.attach(first.imsi), 'attached')
    await eventually(async () => (await sim()).state === 'in-use', PATIENCE_MS)
    const { body } = await service.request('GET', '/v1/sims?state=in-use')
    assert.is(body.sims.length, 1)
    await eventually(async () => {
      const metrics = await service.request('GET', '/metrics')
      assert.match(metrics.body, /^svc_attach_total\{plmn="999-99"\} 1$/m)
      assert.match(metrics.body, /^svc_sim_state\{state="in-use"\} 1$/m)
    })
  },
  { limitMs: PATIENCE_MS },
)

scenario(
  'suspends: blocked in the database, and the phone is off when the answer comes',
  async () => {
    const from = performance.now()
    const suspended = await svc('sim', 'suspend', hash, '--reason', 'lost phone', '--wait', '30s')
    const ms = performance.now() - from
    assert.is(suspended.state, 'suspended')
    assert.is(suspended.detached, 'yes')
    assert.is(phones.isOn(first.imsi), false)
    const doc = await subscribers.findOne({ imsi: first.imsi })
    assert.equal(doc?.slice, [])
    assert.is(doc?.suspended_slice.length, 1)
    assert.is(await phones.attach(first.imsi), 'refused')
    await eventually(async () => (await attachedPhones()) === 0, PATIENCE_MS)
    process.stdout.write(`\n# suspended and off ${ms.toFixed(0)} ms after svc sim suspend was typed\n`)
  },
  { limitMs: PATIENCE_MS },
)

scenario(
  'resumes: the same phone gets on again',
  async () => {
    const resumed = await svc('sim', 'resume', hash)
    assert.is(resumed.state, 'in-use')
    await eventually(async () => (await phones.attach(first.imsi)) === 'attached', PATIENCE_MS)
    assert.is(canonical(await subscribers.findOne({ imsi: first.imsi })), wantedDocument(first))
    await eventually(async () => (await attachedPhones()) === 1, PATIENCE_MS)
  },
  { limitMs: PATIENCE_MS },
)

scenario(
  'revokes: off, and gone from the database',
  async () => {
    const revoked = await svc('sim', 'revoke', hash, '--wait', '30s')
    assert.is(revoked.state, 'revoked')
    assert.is(revoked.detached, 'yes')
    assert.is(phones.isOn(first.imsi), false)
    await eventually(async () => (await subscribers.findOne({ imsi: first.imsi })) === null, PATIENCE_MS)
    assert.is(await phones.attach(first.imsi), 'refused')
    assert.is(Number(await subscribers.countDocuments()), SIMS - 1)
  },
  { limitMs: PATIENCE_MS },
)

scenario(
  'tells the whole story in an audit trail that verifies',
  async () => {
    const { body } = await service.request('GET', '/v1/audit?limit=200')
    const entries: readonly { action: string; target: string; outcome: string }[] = body.entries.toReversed()
    const story = entries
      .filter(({ action }) => !action.startsWith('node.'))
      .map(({ action, target, outcome }) => `${action} ${target === hash ? 'the SIM ' : ''}${outcome}`)
    assert.equal(story, STORY)
    const text = JSON.stringify(body)
    for (const { imsi, ki, opc } of cards)
      for (const secret of [imsi, ki, opc]) assert.not.match(text, secret)
    assert.is(await service.stop(), 0)
    const verdict = await runSvc(['audit', 'verify', '--data-dir', dataDir])
    assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
  },
  { limitMs: PATIENCE_MS },
)

scenario.run()
