import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import {
  type Clock,
  type CoreDesired,
  type CoreDriver,
  coreDriverRef,
  type Imsi,
  type Plugin,
  type Settings,
} from '@steeple/contracts'
import { plugin as coreA } from '@steeple/driver-core-a'
import { plugin as coreB } from '@steeple/driver-core-b'
import {
  assert,
  type CoreFixture,
  coreDriverConformance,
  fakeContext,
  memoryDb,
  type Overrides,
  suite,
} from '@steeple/testkit'
import { needFunctions, startCoreB } from '../containers/core-b-containers.ts'
import { startCore } from '../containers/core-containers.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine, machineFolder } from '../containers/own-machine.ts'

enterOwnMachine(import.meta.filename)
needFunctions()

const engine = await startPodman()
const [a, b] = await Promise.all([startCore(engine), startCoreB(engine)])
/** Drivers measure with it; their own periodic looks stay with the fake one and never come. */
const CLOCK: Clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
const STRANGER = '999990000000099' as Imsi // 15 digits
/** Up to six daemons restart in a test, and each has to stay up for a while. */
const LIMIT_MS = 180_000
const NETWORK = { plmn: { mcc: '999', mnc: '99' }, tac: 7, apns: ['internet'], maxUes: 128, addresses: {} }

/** A core in containers that stay between tests, and how a driver is set to it. */
interface RealCore {
  readonly id: string
  readonly plugin: Plugin
  readonly configDir: string
  readonly containers: Readonly<Record<string, string>>
  readonly settings: Overrides<Settings>
  /** Settings that differ with `n`, in few files: every daemon that restarts takes two seconds. */
  desired(n: number): CoreDesired
  /** Has a daemon refuse its file of these. */
  refuse(n: number): void
}

const apnOf = (n: number): string => `number-${n}`
/** UPF and SMF restart for another APN. */
const OPEN5GS: RealCore = {
  ...a,
  id: 'driver-core-a',
  plugin: coreA,
  settings: { core: 'core_a', core_a: { config_dir: a.configDir, containers: a.containers } },
  desired: (n) => ({ ...NETWORK, apns: ['internet', apnOf(n)] }),
  refuse: (n) => a.refuse('smf', apnOf(n)),
}

const tacOf = (n: number): number => 0xa0b000 + n
/** NSSF, SMF and AMF restart for another TAC. */
const FREE5GC: RealCore = {
  ...b,
  id: 'driver-core-b',
  plugin: coreB,
  settings: {
    core: 'core_b',
    core_b: {
      config_dir: b.configDir,
      containers: b.containers,
      amf_oam_url: 'http://127.0.0.18:8000',
      charging: false,
      oauth: false,
    },
  },
  desired: (n) => ({ ...NETWORK, tac: tacOf(n) }),
  refuse: (n) => b.refuse('nssf', tacOf(n).toString(16)),
}

/** Every file of a directory, the driver's own notes included. */
function filesIn(dir: string): readonly (readonly [path: string, text: string])[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => [path, readFileSync(path, 'utf8')])
}

let last = 0

/** The driver as the service loads it, and settings that its core has never had. */
async function fixture(core: RealCore): Promise<CoreFixture> {
  const { id, configDir, containers } = core
  const db = memoryDb()
  const fake = fakeContext({
    id,
    config: undefined,
    db,
    settings: {
      ...core.settings,
      southbound: { driver: 'container' },
      hss: { driver: 'none', engine_socket: engine.socket },
      server: { data_dir: join(machineFolder(), 'data') },
    },
  })
  const instance = await core.plugin.setup({ ...fake.context, clock: CLOCK })
  const [one, other] = [last + 1, last + 2]
  last = other
  return {
    // The service under its own ref.
    driver: instance.services?.get(coreDriverRef.id) as CoreDriver,
    desired: core.desired(one),
    otherDesired: core.desired(other),
    stranger: STRANGER,
    phones: {
      none: 'no HSS stands behind these daemons; real phones and kicks are in scenario and real-kick',
    },
    configFiles: async () =>
      new Map(filesIn(configDir).map(([path, text]) => [relative(configDir, path), text])),
    failNextApply: async () => core.refuse(other),
    world: async () => JSON.stringify([filesIn(configDir), await engine.starts(Object.values(containers))]),
    close: async () => {
      await fake.dispose()
      db.close()
    },
  }
}

/** The driver's first files: every daemon, which had ended without one, starts with its own. */
async function bringUp(core: RealCore): Promise<void> {
  const { driver, desired, close } = await fixture(core)
  const signal = AbortSignal.timeout(LIMIT_MS)
  await driver.apply(await driver.render(desired), signal)
  const { services } = await driver.observe(signal)
  const down = [...services].filter(([, state]) => state === 'down').map(([name]) => name)
  assert.equal(down, [], core.id)
  await close()
}

const before = suite('e2e/real-core-conformance, before')
before(
  'both cores come up with what their drivers render',
  async () => {
    await Promise.all([bringUp(OPEN5GS), bringUp(FREE5GC)])
  },
  { limitMs: LIMIT_MS },
)
before.run()

coreDriverConformance('core_a in containers of podman', () => fixture(OPEN5GS), { limitMs: LIMIT_MS })
coreDriverConformance('core_b in containers of podman', () => fixture(FREE5GC), { limitMs: LIMIT_MS })

const after = suite('e2e/real-core-conformance, after')
after.after(() => engine.close())
after('every container still runs', async () => {
  for (const name of [...Object.values(a.containers), ...Object.values(b.containers)])
    assert.ok((await engine.state(name)).isRunning, name)
})
after.run()
