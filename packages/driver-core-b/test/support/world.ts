import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context, Settings } from '@steeple/contracts'
import { type ContainerEngine, containerEngine } from '@steeple/lab-core'
import { type FakeContext, fakeContext, memoryDb, type Overrides, tempDir } from '@steeple/testkit'
import { type CoreB, createCoreB } from '../../src/core-b.ts'
import { FUNCTIONS } from '../../src/render/functions.ts'
import { createHttpClient } from '../../src/sbi/http-client.ts'
import { comeUp, type StandInCore, startStandInCore } from './stand-in-core.ts'

/** A core, an engine, a directory, and a driver that reaches them. */
export interface World extends AsyncDisposable {
  readonly core: StandInCore
  readonly engine: ContainerEngine
  readonly dir: string
  readonly fake: FakeContext<unknown>
  readonly b: CoreB
  /** Everything that a driver may change, as a text. */
  text(): Promise<string>
  close(): Promise<void>
}

const CONTAINERS = Object.fromEntries(FUNCTIONS.map((nf) => [nf, `c-${nf}`]))

/** Makes one; `more` changes its settings. */
export async function makeWorld(more: Overrides<Settings['core_b']> = {}): Promise<World> {
  const root = await tempDir()
  const dir = join(root.path, 'config')
  await mkdir(dir)
  const core = await startStandInCore()
  const engine = containerEngine(Object.values(CONTAINERS), (container) =>
    comeUp(core, container.replace('c-', '').toUpperCase()),
  )
  const db = memoryDb()
  const fake = fakeContext<unknown>({
    id: 'driver-core-b',
    config: {},
    db,
    settings: {
      core: 'core_b',
      southbound: { driver: 'container' },
      server: { data_dir: root.path },
      core_b: {
        config_dir: dir,
        containers: CONTAINERS,
        amf_oam_url: `${core.urls.amf}/`,
        smf_oam_url: core.urls.smf,
        nrf_url: core.urls.nrf,
        ...more,
      },
    },
  })
  const http = createHttpClient({ answerMs: 30_000 })
  const context = fake.context as Context // the plugin has no schema of its own
  const b = createCoreB(context, http, {
    engine,
    limits: { settleMs: 0, healthMs: 5_000, pollMs: 10, stopTimeoutS: 1 },
  })
  return {
    core,
    engine,
    dir,
    fake,
    b,
    text: async () => {
      const names = (await readdir(dir)).filter((name) => name.endsWith('.yaml')).toSorted()
      const files = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')))
      return JSON.stringify([core.world(), engine.restarted, names, files])
    },
    async [Symbol.asyncDispose](this: World) {
      await this.close()
    },
    close: async () => {
      await fake.dispose()
      http.close()
      await core.close()
      db.close()
      await root.remove()
    },
  }
}
