import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import { CORE_B_ROLES, type CoreBRole, needAmf, startCoreB } from '../containers/core-b-containers.ts'
import { coreHealth, coreInForce } from '../containers/core-health.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine, machineFolder } from '../containers/own-machine.ts'
import { type Service, startService, until } from '../harness/service.ts'

enterOwnMachine(import.meta.filename)
needAmf()

const real = suite('e2e/real-core-b')
const engine = await startPodman()
const core = await startCoreB(engine)
const configFile = join(machineFolder(), 'control.yaml')
const PATIENCE_MS = 60_000
let service: Service

function configure(mnc: string, addresses: Readonly<Record<string, string>> = {}): void {
  const config = {
    core: 'core_b',
    plmn: { mcc: '999', mnc },
    southbound: { driver: 'container' },
    hss: { driver: 'none', engine_socket: engine.socket },
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

real.before(
  async () => {
    configure('99')
    service = await startService({
      dataDir: join(machineFolder(), 'data'),
      flags: ['--config', configFile],
    })
  },
  { limitMs: 30_000 },
)

real.after(
  async () => {
    await service?.stop()
    await engine.close()
  },
  { limitMs: 20_000 },
)

real(
  'brings up free5GC in order, its real AMF among them',
  async () => {
    await coreInForce(service, PATIENCE_MS)
    assert.equal(await restartedSince(new Map()), CORE_B_ROLES)
    await until(async () => /driver-core-b\.amf ok/.test(await coreHealth(service)), PATIENCE_MS)
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
    await until(async () => (await service.request('GET', '/v1/core/plan')).body.state === 'changes')
    const { body } = await service.request('GET', '/v1/core/plan')
    const restarts = body.daemons.filter(({ action }: { action: string }) => action === 'restart')
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
  'goes back to the last good files when a function refuses them',
  async () => {
    const file = join(core.configDir, 'pcfcfg.yaml')
    const [good, before] = [readFileSync(file, 'utf8'), await starts()]
    const words = /listen tcp 10\.99\.99\.99:8000: bind/
    configure('05', { pcf: '10.99.99.99' })
    service.child.kill('SIGHUP')
    await until(async () => words.test(await engine.output(core.containers.pcf)), PATIENCE_MS)
    await until(async () => (await starts()).has('pcf'), PATIENCE_MS)
    assert.is(readFileSync(file, 'utf8'), good)
    assert.equal(await restartedSince(before), ['pcf'])
  },
  { limitMs: 2 * PATIENCE_MS },
)

real.run()
