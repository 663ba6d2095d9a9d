import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Context, Settings } from '@steeple/contracts'
import { type ContainerEngine, containerEngine } from '@steeple/lab-core'
import { type FakeContext, fakeContext, memoryDb, type Overrides, tempDir } from '@steeple/testkit'
import { type CoreA, type CoreSeams, coreA } from '../../src/core-driver.ts'
import { corePlaces } from '../../src/core-places.ts'
import { type Daemon, daemonsOf } from '../../src/render/roles.ts'
import { type StandInBus, standInBus } from './stand-in-bus.ts'
import { type StandInCore, type StandInDaemon, standInCore } from './stand-in-core.ts'

/** A driver around a core made of recordings, containers that restart, and a directory of its own. */
export interface World {
  readonly fake: FakeContext<undefined>
  readonly core: StandInCore
  readonly bus: StandInBus
  readonly engine: ContainerEngine
  readonly a: CoreA
  readonly dir: string
  /** The addresses by which the core was looked for, each time. */
  readonly asked: Readonly<Record<string, string>>[]
  /** Files of the directory and restarts, as a text. */
  text(): Promise<string>
  close(): Promise<void>
}

/** Short bounds: what is well is well at once. */
const LIMITS = { settleMs: 5, healthMs: 10_000, pollMs: 5 }

/** Makes one. `generation` decides which daemons there are; all of them have containers. */
export async function world(
  generation: 'epc' | '5gc' = 'epc',
  settings: Overrides<Settings> = {},
  seams: Partial<CoreSeams> = {},
): Promise<World> {
  const [folder, core, bus] = await Promise.all([tempDir(), standInCore(), standInBus()])
  await mkdir(join(folder.path, 'core'))
  const daemons = daemonsOf([generation])
  const containers = Object.fromEntries(daemons.map((daemon) => [daemon, `core-${daemon}`]))
  const engine = containerEngine(Object.values(containers))
  const db = memoryDb()
  const fake = fakeContext({
    id: 'driver-core-a',
    config: undefined,
    db,
    settings: {
      southbound: { driver: 'container' },
      core_a: { config_dir: join(folder.path, 'core'), containers },
      server: { data_dir: join(folder.path, 'data') },
      ...settings,
    },
  })
  // Time goes by itself, and can be pushed on besides.
  const now = (): number => performance.now() + fake.context.clock.monotonicMs()
  // Not spread: its settings can change.
  const context: Context = Object.create(fake.context, {
    clock: { value: { nowMs: now, monotonicMs: now } },
  })
  const asked: Readonly<Record<string, string>>[] = []
  const a = coreA(context, {
    engine,
    limits: LIMITS,
    places: (current) => {
      asked.push(current.core_a.addresses)
      return {
        ...corePlaces(current),
        urlOf: (daemon: Daemon) => core.url(daemon as StandInDaemon), // those with a server are asked
        busOf: () => bus.origin,
      }
    },
    ...seams,
  })
  return {
    fake,
    core,
    bus,
    engine,
    a,
    asked,
    dir: join(folder.path, 'core'),
    text: async () => JSON.stringify([await filesIn(join(folder.path, 'core')), engine.restarted]),
    close: async () => {
      await fake.dispose()
      db.close()
      await Promise.all([core.close(), bus.close()])
      await folder.remove()
    },
  }
}

/** The files below a directory, sorted by path: path relative to it, content. */
export async function filesIn(dir: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
  return await Promise.all(
    paths.map(async (path) => [relative(dir, path), await readFile(path, 'utf8')] as const),
  )
}
