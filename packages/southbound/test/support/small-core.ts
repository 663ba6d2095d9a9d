import type {
  Context,
  CoreApplied,
  CoreDesired,
  CorePlan,
  Imsi,
  ObservedUe,
  Rendered,
  Settings,
} from '@steeple/contracts'
import { type FakeContext, fakeContext, memoryDb, type Overrides } from '@steeple/testkit'
import { renderedOf } from '../../src/config-set/files.ts'
import { type CoreFiles, createCoreFiles } from '../../src/core-files/core-files.ts'
import type { CoreFilesParts } from '../../src/core-files/core-set.ts'
import { engineAt } from '../../src/engine/engine.ts'
import { DAEMONS, LIMITS, type World } from './world.ts'

/** Containers by role, as the configuration names them. */
export const CONTAINERS: Readonly<Record<string, string>> = {
  upf: 'c-upf',
  smf: 'c-smf',
  hss: 'c-hss',
  mme: 'c-mme',
}

/** A core of four daemons; TAC 666 is one that its MME does not start with. */
export function smallCore(world: World, more: Partial<CoreFilesParts> = {}): CoreFilesParts {
  return {
    core: 'core_a',
    place: ({ core_a }) => ({
      configDir: core_a.config_dir,
      containers: core_a.containers,
      addresses: core_a.addresses,
    }),
    rendered: async (_desired, { plmn, tac, policy }) =>
      renderedOf(filesFor({ plmn, tac, apns: policy.apns, maxUes: policy.max_ues })),
    daemons: () => DAEMONS.map(({ container: _container, ...daemon }) => daemon),
    engine: engineAt(world.engine.socket, { answerMs: 3_000 }),
    limits: LIMITS,
    ...more,
  }
}

export function filesFor({ plmn, tac, apns, maxUes }: CoreDesired): ReadonlyMap<string, string> {
  return new Map([
    ['upf.yaml', `apns: ${apns.join(' ')}\n`],
    ['smf.yaml', `apns: ${apns.join(' ')}\n`],
    ['freediameter/smf.conf', 'identity: smf\n'],
    ['hss.yaml', `max: ${maxUes}\ndb_uri: mongodb://core:s3cret-word@127.0.0.1/open5gs\n`],
    ['mme.yaml', `plmn: ${plmn.mcc}${plmn.mnc}\ntac: ${tac === 666 ? 'bad' : tac}\n`],
  ])
}

/** Settings that reach the world. */
export function settingsOf(world: World, more: Overrides<Settings> = {}): Overrides<Settings> {
  return {
    southbound: { driver: 'container' },
    core_a: { config_dir: world.dir, containers: CONTAINERS },
    server: { data_dir: world.root.path },
    ...more,
  }
}

/** A core under a fake context. */
export interface FakeCore {
  readonly fake: FakeContext<unknown>
  readonly core: CoreFiles
  /** What the settings ask for now. */
  wanted(): Rendered
  plan(): Promise<CorePlan>
  /** Applies what the settings ask for. */
  apply(): Promise<CoreApplied>
  change(settings: Overrides<Settings>): void
  close(): Promise<void>
}

export async function fakeCore(
  world: World,
  more: Overrides<Settings> = {},
  parts: Partial<CoreFilesParts> = {},
): Promise<FakeCore> {
  const db = memoryDb()
  const fake = fakeContext<unknown>({
    id: 'driver-core-a',
    config: {},
    db,
    settings: settingsOf(world, more),
  })
  const core = createCoreFiles(fake.context as Context, smallCore(world, parts))
  const wanted = (): Rendered => {
    const { plmn, tac, policy } = fake.context.settings
    return renderedOf(filesFor({ plmn, tac, apns: policy.apns, maxUes: policy.max_ues }))
  }
  const { signal } = new AbortController()
  return {
    fake,
    core,
    wanted,
    plan: () => core.driver.plan(wanted(), signal),
    apply: () => core.driver.apply(wanted(), signal),
    change: (settings) => fake.changeSettings(settingsOf(world, settings)),
    close: async () => {
      await fake.dispose()
      db.close()
    },
  }
}

/** Phones, registered or only remembered. */
export function phones(registered: number, remembered: number): readonly ObservedUe[] {
  return Array.from({ length: registered + remembered }, (_, at) => ({
    // A test's own digits.
    imsi: `99999${String(at).padStart(10, '0')}` as Imsi,
    isRegistered: at < registered,
    apns: [],
  }))
}
