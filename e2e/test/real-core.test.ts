import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { assert, eventually, suite } from '@steeple/testkit'
import { coreHealth, coreInForce, EPC_ROLES, type EpcRole, startCore } from '../containers/core-containers.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine, machineFolder } from '../containers/own-machine.ts'
import { ROOT } from '../harness/launch.ts'
import { type Service, startService } from '../harness/service.ts'

enterOwnMachine(import.meta.filename)

const real = suite('e2e/real-core')
const engine = await startPodman()
const core = await startCore(engine)
// In memory, as all of this machine: nothing is left of it, however this ends.
const folder = machineFolder()
const configFile = join(folder, 'control.yaml')
const PATIENCE_MS = 180_000
const RECORDED_SESSION = join(ROOT, 'lab/lab-core/fixtures/smf-pdu-info.attached-4g.json.txt')
const RECORDED_PHONE = join(ROOT, 'lab/lab-core/fixtures/mme-ue-info.attached-connected.json.txt')
const FILES = [
  ...['hss', 'mme', 'pcrf', 'smf'].map((name) => `freeDiameter/${name}.conf`),
  ...['hss', 'mme', 'pcrf', 'sgwc', 'sgwu', 'smf', 'upf'].map((name) => `${name}.yaml`),
]
let service: Service

function start(): Promise<Service> {
  return startService({ dataDir: join(folder, 'data'), flags: ['--config', configFile] })
}

/** What the operator writes, over what is always the same here. */
interface Wishes {
  readonly mnc: string
  readonly addresses?: Readonly<Record<string, string>>
}

function configure({ mnc, addresses = {} }: Wishes): void {
  const config = {
    plmn: { mcc: '999', mnc },
    southbound: { driver: 'container' },
    hss: { driver: 'none', engine_socket: engine.socket },
    core_a: { config_dir: core.configDir, containers: core.containers, addresses },
  }
  // JSON is YAML.
  writeFileSync(configFile, JSON.stringify(config))
}

/** The operator's way: edit the file, SIGHUP. */
function reconfigure(wishes: Wishes): void {
  configure(wishes)
  service.child.kill('SIGHUP')
}

async function plan() {
  const { status, body } = await service.request('GET', '/v1/core/plan')
  assert.is(status, 200, JSON.stringify(body))
  return body
}

/** When each daemon was started last, as the engine knows it. */
async function starts(): Promise<ReadonlyMap<EpcRole, string>> {
  const entries = EPC_ROLES.map(async (role) => {
    const { isRunning, startedAt } = await engine.state(core.containers[role])
    assert.ok(isRunning, `${role} does not run`)
    return [role, startedAt] as const
  })
  return new Map(await Promise.all(entries))
}

/** Those that were started since, first to last. */
async function restartedSince(before: ReadonlyMap<EpcRole, string>): Promise<readonly EpcRole[]> {
  const now = await starts()
  return EPC_ROLES.filter((role) => now.get(role) !== before.get(role)).sort((a, b) =>
    (now.get(a) ?? '') < (now.get(b) ?? '') ? -1 : 1,
  )
}

/** The rendered files; not the driver's own notes. */
function files(): Readonly<Record<string, string>> {
  const names = readdirSync(core.configDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => relative(core.configDir, join(entry.parentPath, entry.name)))
    .sort()
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(core.configDir, name), 'utf8')]))
}

function restartsIn({
  daemons,
}: {
  daemons: readonly { name: string; action: string }[]
}): readonly string[] {
  return daemons.filter(({ action }) => action === 'restart').map(({ name }) => name)
}

/** Their sessions as the SMF lists them. */
function sessions(count: number): readonly unknown[] {
  const { items } = JSON.parse(readFileSync(RECORDED_SESSION, 'utf8'))
  return Array.from({ length: count }, (_none, i) => ({ ...items[0], supi: `imsi-99905000000000${i}` }))
}

/** Phones as the MME lists them when they are on. */
function phones(count: number): readonly unknown[] {
  const { items } = JSON.parse(readFileSync(RECORDED_PHONE, 'utf8'))
  return Array.from({ length: count }, (_none, i) => ({ ...items[0], supi: `99905000000000${i}` }))
}

real.before(async () => {
  configure({ mnc: '99' })
  service = await start()
})

real.after(async () => {
  await service?.stop()
  await engine.close()
})

real(
  'renders every file of a core that has none, and brings its daemons up in order',
  async () => {
    const said = await plan()
    assert.equal(
      said.daemons.map(({ action }: { action: string }) => action),
      EPC_ROLES.map(() => 'restart'),
    )
    await coreInForce(service, PATIENCE_MS)
    assert.equal(Object.keys(files()), FILES)
    const order = await restartedSince(new Map())
    // Those that others connect to come first; SGW-C and SMF come after the MME, whose sessions they would keep.
    assert.equal(order, ['upf', 'sgwu', 'hss', 'pcrf', 'mme', 'sgwc', 'smf'])
    await eventually(async () => /daemons ok/.test(await coreHealth(service)), PATIENCE_MS)
  },
  { limitMs: 2 * PATIENCE_MS },
)

real(
  'restarts only whom a new network code concerns, and had said so before',
  async () => {
    const before = await starts()
    // Sessions first: phones that the SMF has none of are told to come back.
    core.show('pdu-info', sessions(3))
    core.show('ue-info', phones(3))
    await engine.hide()
    reconfigure({ mnc: '05' })
    await eventually(async () => (await plan()).subscribers_dropped === 3, PATIENCE_MS)
    const said = await plan()
    assert.equal(restartsIn(said), ['mme', 'sgwc', 'smf'])
    assert.match(said.files.find(({ path }: { path: string }) => path === 'mme.yaml').diff, /\+ +mnc: "05"/)
    await eventually(
      async () => /core degraded: .*socket is missing/.test(await coreHealth(service)),
      PATIENCE_MS,
    )
    assert.equal(await restartedSince(before), [], 'somebody was restarted without an engine')
    await engine.show()
    await coreInForce(service, PATIENCE_MS)
    assert.equal(await restartedSince(before), ['mme', 'sgwc', 'smf'])
    assert.match(files()['mme.yaml'] ?? '', /mnc: "05"/)
    core.show('ue-info', [])
    core.show('pdu-info', [])
  },
  { limitMs: 2 * PATIENCE_MS },
)

real(
  'goes back to the last good files when a daemon refuses, with its words',
  async () => {
    const good = files()
    const before = await starts()
    reconfigure({ mnc: '05', addresses: { mme: '10.99.99.99' } })
    let words = ''
    await eventually(async () => {
      words = await coreHealth(service)
      return /core degraded: mme does not get well/.test(words)
    }, PATIENCE_MS)
    for (const part of [
      // Whether it ends before it has settled, or on a busy machine after that.
      /ended with code 255/,
      /sctp_bind\(\) \[10\.99\.99\.99\]:36412 failed/,
      /The last good files are back, and the core is well with them/,
    ])
      assert.match(words, part, words)
    assert.equal(files(), good)
    assert.ok((await restartedSince(before)).includes('mme'))
    const refused = await starts()
    // It is not tried again and again: every try drops everybody.
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    assert.equal(await restartedSince(refused), [])
    const { body } = await service.request('GET', '/v1/audit?limit=50')
    const actions: readonly string[] = body.entries.map(({ action }: { action: string }) => action)
    assert.ok(actions.includes('core.config_refused'), actions.join())
    reconfigure({ mnc: '05' })
    await coreInForce(service, PATIENCE_MS)
    assert.equal(await restartedSince(refused), [], 'nothing differs from what runs')
  },
  { limitMs: 2 * PATIENCE_MS },
)

real(
  'heals a file that was edited by hand',
  async () => {
    const good = files()
    const before = await starts()
    // It restarts only if it may have read the edit, as it may in its first seconds.
    await eventually(async () => {
      appendFileSync(join(core.configDir, 'hss.yaml'), '# faster\n')
      return restartsIn(await plan()).length === 0
    }, PATIENCE_MS)
    service.child.kill('SIGHUP')
    await eventually(async () => isDeepStrictEqual(files(), good), PATIENCE_MS)
    await coreInForce(service, PATIENCE_MS)
    assert.equal(await restartedSince(before), [])
  },
  { limitMs: 2 * PATIENCE_MS },
)

real(
  'goes on with a change that it was killed in the middle of',
  async () => {
    const before = await starts()
    reconfigure({ mnc: '070' })
    await eventually(async () => (await restartedSince(before)).includes('mme'), PATIENCE_MS)
    await service.kill()
    assert.equal(await restartedSince(before), ['mme'], 'it was over before the kill')
    service = await start()
    await coreInForce(service, PATIENCE_MS)
    const restarted = await restartedSince(before)
    for (const role of ['mme', 'smf', 'sgwc'] as const) assert.ok(restarted.includes(role), restarted.join())
    assert.match(files()['mme.yaml'] ?? '', /mnc: "070"/)
  },
  { limitMs: 2 * PATIENCE_MS },
)

real.run()
