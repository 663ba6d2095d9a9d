import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import {
  CORE_B_ROLES,
  type CoreBRole,
  givenFunctions,
  needFunctions,
  startCoreB,
} from '../containers/core-b-containers.ts'
import { coreHealth, coreInForce } from '../containers/core-containers.ts'
import { type DataRepository, startDataRepository } from '../containers/data-repository.ts'
import { startDatabase } from '../containers/database.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine, machineFolder } from '../containers/own-machine.ts'
import { askRegistration, askSession } from '../containers/policy-control.ts'
import { allSynced, importCard, RECORDED_CARD } from '../containers/provisioning.ts'
import { type Service, startService } from '../harness/service.ts'

enterOwnMachine(import.meta.filename)
needFunctions()

const real = suite('e2e/real-core-b')
const engine = await startPodman()
const [core, database] = await Promise.all([
  startCoreB(engine, givenFunctions('nrf', 'pcf', 'amf')),
  startDatabase(),
])
const configFile = join(machineFolder(), 'control.yaml')
const PATIENCE_MS = 180_000
const PCF = 'http://127.0.0.7:8000'
/** Of the network that the core has by then. */
const CARD = { ...RECORDED_CARD, imsi: '999050000000060' }
let service: Service
let udr: DataRepository | undefined

function configure(mnc: string, addresses: Readonly<Record<string, string>> = {}): void {
  const config = {
    core: 'core_b',
    plmn: { mcc: '999', mnc },
    southbound: { driver: 'container' },
    hss: {
      driver: 'core_b',
      mongo_url: 'mongodb://127.0.0.1:27017/free5gc',
      engine_socket: engine.socket,
    },
    policy: { apns: ['internet', 'iot.example'] },
    sims: { drift_interval: '2s' },
    core_b: {
      config_dir: core.configDir,
      containers: core.containers,
      addresses,
      amf_oam_url: 'http://127.0.0.18:8000',
      charging: false,
      oauth: false,
    },
  }
  writeFileSync(configFile, JSON.stringify(config))
}

/** When each function was started last; only those that run. */
async function starts(): Promise<ReadonlyMap<CoreBRole, string>> {
  const states = CORE_B_ROLES.map(async (role) => [role, await engine.state(core.containers[role])] as const)
  const running = (await Promise.all(states)).filter(([, { isRunning }]) => isRunning)
  return new Map(running.map(([role, { startedAt }]) => [role, startedAt]))
}

async function restartedSince(before: ReadonlyMap<CoreBRole, string>): Promise<readonly CoreBRole[]> {
  const now = await starts()
  return CORE_B_ROLES.filter((role) => now.get(role) !== before.get(role)).sort((a, b) =>
    (now.get(a) ?? '') < (now.get(b) ?? '') ? -1 : 1,
  )
}

const amfFile = (): string => readFileSync(join(core.configDir, 'amfcfg.yaml'), 'utf8')

real.before(async () => {
  configure('99')
  service = await startService({
    dataDir: join(machineFolder(), 'data'),
    flags: ['--config', configFile],
  })
})

real.after(async () => {
  await service?.stop()
  udr?.close()
  await database.close()
  await engine.close()
})

real(
  'brings up free5GC in order, its real NRF, PCF and AMF among them',
  async () => {
    await coreInForce(service, PATIENCE_MS)
    assert.equal(await restartedSince(new Map()), CORE_B_ROLES)
    await eventually(async () => /driver-core-b\.amf ok/.test(await coreHealth(service)), PATIENCE_MS)
    const said = await engine.output('free5gc-amf')
    assert.match(said, /registered-ue-context/, 'the product asks it who is on')
  },
  { limitMs: 2 * PATIENCE_MS },
)

real(
  'has the real AMF serve a new network code',
  async () => {
    const before = await starts()
    configure('05')
    service.child.kill('SIGHUP')
    // The first that tells of changes: what was set meanwhile is in no later one.
    const restarts = await eventually(async () => {
      const { body } = await service.request('GET', '/v1/core/plan')
      assert.is(body.state, 'changes')
      return body.daemons.filter(({ action }: { action: string }) => action === 'restart')
    })
    await coreInForce(service, PATIENCE_MS)
    // The UPF's file has no network code in it, and it does not know the NRF.
    const expected = CORE_B_ROLES.filter((role) => role !== 'upf')
    assert.equal(
      restarts.map(({ name }: { name: string }) => name),
      expected,
    )
    assert.equal(await restartedSince(before), expected)
    assert.match(amfFile(), /mnc: "05"/)
  },
  { limitMs: 2 * PATIENCE_MS },
)

real(
  'has the real PCF read what it wrote for a SIM, through a block and edits by hand',
  async () => {
    udr = await startDataRepository(database)
    const { imsi } = CARD
    const hash = await importCard(service, CARD, 'internet;iot.example')
    await allSynced(service, PATIENCE_MS)
    let id = 0
    const ask = (dnn: string) => {
      // The PCF remembers the policy of a session that it knows.
      id += 1
      return askSession(PCF, imsi, { id, dnn })
    }
    assert.is((await askRegistration(PCF, imsi)).status, 201)
    for (const dnn of ['internet', 'iot.example']) {
      const { status, body } = await ask(dnn)
      assert.is(status, 201, `${dnn}: ${JSON.stringify(body)}`)
      // Its volumes are counted.
      assert.ok(
        Object.values(body.chgDecs ?? {}).some(({ offline }) => offline === true),
        dnn,
      )
    }
    assert.is((await ask('other')).status, 400)
    await service.request('POST', `/v1/sims/${hash}/suspend?wait=30s`, { body: {} })
    assert.is((await ask('internet')).status, 400)
    await service.request('POST', `/v1/sims/${hash}/resume`, { body: {} })
    await eventually(async () => (await ask('iot.example')).status === 201, PATIENCE_MS)
    const policies = database.collection('free5gc', 'policyData.ues.smData')
    // The look at what has drifted, every two seconds, may be quicker than the question.
    await eventually(async () => {
      await policies.deleteMany({})
      return (await ask('internet')).status === 400
    }, PATIENCE_MS)
    await eventually(async () => (await ask('internet')).status === 201, PATIENCE_MS)
    await allSynced(service, PATIENCE_MS)
  },
  { limitMs: 3 * PATIENCE_MS },
)

real(
  'goes back to the last good files when a function refuses them',
  async () => {
    const file = join(core.configDir, 'ausfcfg.yaml')
    const [good, before] = [readFileSync(file, 'utf8'), await starts()]
    const words = /listen tcp 10\.99\.99\.99:8000: bind/
    configure('05', { ausf: '10.99.99.99' })
    service.child.kill('SIGHUP')
    await eventually(async () => words.test(await engine.output(core.containers.ausf)), PATIENCE_MS)
    // Between its last words and its end it runs still, with what it refuses.
    await eventually(
      async () => readFileSync(file, 'utf8') === good && (await starts()).has('ausf'),
      PATIENCE_MS,
    )
    assert.equal(await restartedSince(before), ['ausf'])
  },
  { limitMs: 2 * PATIENCE_MS },
)

real.run()
