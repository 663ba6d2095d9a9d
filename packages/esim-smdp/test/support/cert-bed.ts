import { readFile } from 'node:fs/promises'
import { type ComponentHealth, type Context, type Plugin, vaultRef } from '@steeple/contracts'
import { type FakeClock, loadTestbed, type Testbed, type TestbedPlugin } from '@steeple/testkit'
import { certificates } from '../../src/certs/certificates.ts'
import { certStore, type HeldCertificates } from '../../src/certs/store.ts'
import type { EsimConfig } from '../../src/config.ts'
import { MIGRATIONS } from '../../src/migrations.ts'
import { CERTS, DROPPED, REVOKED, SESSIONS } from '../../src/store/rows.ts'

/** The edge, the store and the certificates of this plugin alone. */
export interface CertBed {
  readonly bed: Testbed
  certs(): HeldCertificates
  health(): ComponentHealth
  context(): Context
  /** As when the configuration was read again. */
  changed(): void
}

export async function certBed(
  options: { config?: Partial<EsimConfig>; clock?: FakeClock } = {},
): Promise<CertBed> {
  let certs: HeldCertificates | undefined
  let health: (() => ComponentHealth) | undefined
  let given: Context | undefined
  const listeners: (() => void)[] = []
  const plugin: Plugin<EsimConfig> = {
    migrations: MIGRATIONS,
    tables: [CERTS, DROPPED, REVOKED, SESSIONS],
    setup: async (context) => {
      const vault = context.use(vaultRef)
      vault.register({ table: 'esim_smdp_cert', key: 'id', columns: ['key_sealed'] })
      const opened = await certStore(context, vault)
      certs = opened
      const part = certificates({
        // What tells of settings is this test's own; the rest stays the context's.
        context: Object.create(context, {
          onSettings: { value: (listener: () => void) => listeners.push(listener) },
        }),
        vault,
        certs: opened,
      })
      health = part.health
      given = context
      return { routes: part.routes, start: part.start, health: async () => [part.health()] }
    },
  }
  const bed = await (await loadTestbed()).startTestbed({
    plugins: [await alone(plugin)],
    config: { esim: { enabled: true, ...options.config } },
    ...(options.clock && { clock: options.clock }),
  })
  return {
    bed,
    certs: () => {
      if (certs === undefined) throw new Error('the plugin is not set up')
      return certs
    },
    changed: () => {
      for (const listener of listeners) listener()
    },
    context: () => {
      if (given === undefined) throw new Error('the plugin is not set up')
      return given
    },
    health: () => {
      if (health === undefined) throw new Error('the plugin is not set up')
      return health()
    },
  }
}

/** The plugin with the manifest of the package, without what others would have to provide, and what it would give them. */
async function alone(plugin: Plugin<EsimConfig>): Promise<TestbedPlugin> {
  const read = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(new URL(`../../${name}`, import.meta.url), 'utf8'))
  // Both files are this package's own.
  const { steeple, name, version } = (await read('package.json')) as {
    readonly steeple: Extract<TestbedPlugin, { plugin: unknown }>['manifest']
    readonly name: string
    readonly version: string
  }
  const schema = (await read('config.schema.json')) as Extract<TestbedPlugin, { plugin: unknown }>['schema']
  const manifest = { ...steeple, requires: [], provides: [] }
  return { manifest, name, version, plugin: plugin as Plugin, ...(schema && { schema }) }
}
