import {
  type BatchResult,
  type CoreDriver,
  coreDriverRef,
  type HssDriver,
  hssDriverRef,
  type Imsi,
  type Plugin,
  type Subscriber,
  type SubscriberObserved,
} from '@steeple/contracts'
import type { InlinePlugin } from './testbed.ts'

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
