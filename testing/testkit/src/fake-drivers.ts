import { readFile } from 'node:fs/promises'
import {
  type AuditEntry,
  type BatchResult,
  type CoreDriver,
  coreDriverRef,
  type HssDriver,
  hssDriverRef,
  type Imsi,
  type JsonSchema,
  type Manifest,
  type NodeIdentity,
  type Plugin,
  type Role,
  type ServiceRef,
  type Settings,
  type Subscriber,
  type SubscriberObserved,
} from '@steeple/contracts'
import type { FakeClock } from './fake-clock.ts'
import type { Overrides } from './settings.ts'

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** An HSS in memory that can be down, fail for some and be tampered with. */
export interface FakeHss extends Mutable<HssDriver> {
  readonly held: Map<Imsi, Subscriber>
  /** Every SQN that a call brought, by IMSI. */
  readonly sqns: Map<Imsi, bigint[]>
  /** Keys in hex as they were at the time of the call. */
  readonly keys: Map<Imsi, string>
  readonly calls: string[]
  compare?: NonNullable<HssDriver['compare']>
  isDown: boolean
  /** Says that something else is behind it now; there once its plugin is set up. */
  changed?: () => void
  /** Subscribers that fail for themselves. */
  failsFor: (imsi: Imsi) => boolean
}

/** An HSS that holds nobody. */
export function fakeHss(): FakeHss {
  const held = new Map<Imsi, Subscriber>()
  const sqns = new Map<Imsi, bigint[]>()
  const keys = new Map<Imsi, string>()
  const calls: string[] = []
  const hss: FakeHss = {
    name: 'fake',
    held,
    sqns,
    keys,
    calls,
    isDown: false,
    failsFor: () => false,
    observe: async (imsis, signal) => {
      begin('observe', imsis, signal)
      return new Map(
        imsis.flatMap((imsi) => {
          const row = held.get(imsi)
          return row === undefined ? [] : [[imsi, observedOf(row)]]
        }),
      )
    },
    upsert: async (subscribers, signal) => {
      begin('upsert', subscribers, signal)
      return results(
        subscribers.map(({ imsi }) => imsi),
        (imsi, i) => {
          const subscriber = subscribers[i]
          if (subscriber === undefined) return
          sqns.set(imsi, [...(sqns.get(imsi) ?? []), subscriber.sqn])
          keys.set(imsi, Buffer.concat([subscriber.ki, subscriber.opc]).toString('hex'))
          held.set(imsi, { ...subscriber, sqn: held.get(imsi)?.sqn ?? subscriber.sqn })
        },
      )
    },
    remove: async (imsis, signal) => {
      begin('remove', imsis, signal)
      return results(imsis, (imsi) => void held.delete(imsi))
    },
    setBlocked: async (imsis, isBlocked, signal) => {
      begin('setBlocked', imsis, signal)
      return results(imsis, (imsi) => {
        const row = held.get(imsi)
        if (row === undefined) throw new Error(`no subscriber ${imsi}`)
        held.set(imsi, { ...row, isBlocked })
      })
    },
  }
  const begin = (name: string, items: readonly unknown[], signal: AbortSignal): void => {
    signal.throwIfAborted()
    calls.push(`${name} ${items.length}`)
    if (hss.isDown) throw new Error('the database is away')
  }
  const results = (imsis: readonly Imsi[], work: (imsi: Imsi, i: number) => void): BatchResult =>
    new Map(
      imsis.map((imsi, i) => {
        if (hss.failsFor(imsi)) return [imsi, new Error(`document ${imsi} is refused`)]
        try {
          work(imsi, i)
          return [imsi, undefined]
        } catch (error) {
          return [imsi, error as Error]
        }
      }),
    )
  return hss
}

function observedOf({ imsi, apns, ambrBps, isBlocked, msisdn }: Subscriber): SubscriberObserved {
  return { imsi, apns, ambrBps, isBlocked, ...(msisdn === undefined ? {} : { msisdn }) }
}

/** A core in memory: who is attached, and whether a kick works at once. */
export interface FakeCore extends CoreDriver {
  readonly attached: Set<Imsi>
  readonly kicks: Imsi[]
  /** Kicks that only begin before one works. */
  pendingKicks: number
}

/** A core to which nobody is attached. */
export function fakeCore(): FakeCore {
  const attached = new Set<Imsi>()
  const kicks: Imsi[] = []
  const core: FakeCore = {
    attached,
    kicks,
    pendingKicks: 0,
    render: async () => ({ files: new Map(), sha256: '' }),
    observe: async () => ({
      configSha256: undefined,
      services: new Map(),
      radios: 0,
      attachedUes: attached.size,
    }),
    apply: async () => ({ changed: [], restarted: [] }),
    kick: async (imsi) => {
      kicks.push(imsi)
      if (!attached.has(imsi)) return 'not_attached'
      if (core.pendingKicks > 0) {
        core.pendingKicks -= 1
        return 'pending'
      }
      attached.delete(imsi)
      return 'yes'
    },
    ues: async () => [...attached].map((imsi) => ({ imsi, isRegistered: true, apns: ['internet'] })),
  }
  return core
}

/** A plugin that provides one driver. */
export function driverPlugin(kind: 'hss' | 'core', driver: object): InlinePlugin {
  const ref = kind === 'hss' ? hssDriverRef : coreDriverRef
  const plugin: Plugin = {
    setup: async (context) => {
      Reflect.set(driver, 'changed', () => context.changed(ref))
      return { services: new Map([[ref.id, driver]]) }
    },
  }
  return {
    name: `@example/${kind}`,
    version: '1.0.0',
    plugin,
    manifest: {
      id: `fake-${kind}`,
      kind,
      contracts: '*',
      config_path: `fake_${kind}`,
      provides: [ref.id],
      handover: 'overlap',
    },
  }
}

/** A plugin given as values, so that a test runs its source and not its build. See `pluginFrom`. */
export interface InlinePlugin {
  readonly manifest: Manifest
  readonly name: string
  readonly version: string
  readonly plugin: Plugin
  /** What `manifest.config` names. */
  readonly schema?: JsonSchema
}

/** A plugin to load: as values, or the absolute path of its package folder (then its built entry is imported). */
export type TestbedPlugin = InlinePlugin | { readonly dir: string }

/** How a testbed starts. */
export interface TestbedOptions {
  /** In any order; the registry sorts them by what they require. */
  readonly plugins: readonly TestbedPlugin[]
  /** Laid over the defaults. The listener, the data directory and the store are the testbed's own. */
  readonly settings?: Overrides<Settings>
  /** Configuration of plugins at paths that `Settings` does not know, by `config_path`. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Drives the kernel's clock and every periodic task; real time when absent. */
  readonly clock?: FakeClock
  /** Environment variables that the configuration reads. Nothing of the real environment is read. */
  readonly env?: Readonly<Record<string, string>>
}

/** One request to the running edge. */
export interface TestRequest {
  /** Bearer credential; the admin token when absent, no header at all when false. */
  readonly token?: string | false
  /** Sent as JSON unless it is a string or bytes. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer. `body` is parsed when it is JSON, a string otherwise, undefined when empty. */
export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** The principal that `Testbed.credential` stands for. */
export interface TestPrincipal {
  readonly kind: 'user' | 'token' | 'node' | 'cli'
  readonly id: string
  readonly roles: readonly Role[]
}

/** The real kernel, store and edge around the plugins under test, on a free loopback port. */
export interface Testbed extends AsyncDisposable {
  readonly url: string
  /** The environment admin token of this testbed. */
  readonly adminToken: string
  readonly identity: NodeIdentity
  readonly dataDir: string
  request(method: string, path: string, request?: TestRequest): Promise<TestResponse>
  /**
   * A bearer credential that the edge takes for that principal.
   * Only while no plugin under test provides `access.authenticator`; throws otherwise.
   */
  credential(principal: TestPrincipal): string
  /** The whole audit trail, newest first. */
  audit(): Promise<readonly AuditEntry[]>
  /** The events of the outbox, oldest first. */
  events(): Promise<
    readonly {
      readonly type: string
      readonly subject: string
      readonly data: Readonly<Record<string, unknown>>
    }[]
  >
  /** A service of the kernel or of a loaded plugin; undefined when nobody provides it. */
  service<T extends object>(ref: ServiceRef<T>): T | undefined
  /** Resolves when the first reconcile pass is over and no reconcile is running or due now. */
  settled(): Promise<void>
  load(plugin: TestbedPlugin): Promise<void>
  unload(id: string): Promise<void>
  /** Stops everything and removes the data directory. Idempotent. */
  stop(): Promise<void>
}

/** What `testing/testbed` exports. */
export interface TestbedModule {
  startTestbed(options: TestbedOptions): Promise<Testbed>
}

/**
 * The built testbed package. The dependency is loaded by its place in the workspace, since a declared one would be
 * a cycle: testbed → kernel → testkit.
 */
export async function loadTestbed(): Promise<TestbedModule> {
  // dist/index.js and src/testbed.ts both lie one folder below the package.
  const entry = new URL('../../testbed/dist/index.js', import.meta.url)
  // The testbed package declares that it implements this interface.
  return (await import(entry.href)) as TestbedModule
}

/** The plugin of the package around a test: `pluginFrom(import.meta.url, plugin)` in `<package>/test/*.test.ts`. */
export async function pluginFrom<Config>(testUrl: string, plugin: Plugin<Config>): Promise<InlinePlugin> {
  const text = await readFile(new URL('../package.json', testUrl), 'utf8')
  // The file is this workspace's own; the registry checks the manifest as it does any other.
  const { steeple, name, version } = JSON.parse(text) as {
    readonly steeple: Manifest
    readonly name: string
    readonly version: string
  }
  const schema =
    steeple.config === undefined
      ? undefined
      : (JSON.parse(await readFile(new URL(`../${steeple.config}`, testUrl), 'utf8')) as JsonSchema)
  return { manifest: steeple, name, version, plugin: plugin as Plugin, ...(schema && { schema }) }
}
