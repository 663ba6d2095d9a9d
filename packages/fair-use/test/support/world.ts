import { fileURLToPath } from 'node:url'
import type { Imsi, ImsiHash, Subscriber } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  driverPlugin,
  eventually,
  type FakeClock,
  fakeClock,
  fakeCore,
  fakeHss,
  type InlinePlugin,
  letTimePass,
  loadTestbed,
  pluginFrom,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../../src/plugin.ts'
import { ledgerPlugin, type TestLedger } from './ledger.ts'

/** A usage record as a test reads it. */
export interface UsageBody {
  readonly up_bytes: number
  readonly down_bytes: number
  readonly total_bytes: number
  readonly quota_bytes: number | null
  readonly added_bytes: number
  readonly throttle_bps: number | null
  readonly remaining_bytes: number | null
  readonly over_quota: boolean
  readonly overridden: boolean
  readonly period: string
  readonly period_start: string
  readonly period_end: string | null
  readonly time_zone: string
  readonly action: string | null
  readonly enforcement: string
  readonly throttle: { readonly bps: number; readonly state: string } | null
  readonly is_incomplete: boolean
  readonly known_until: string | null
  readonly unknown_reason: string | null
  readonly by_source: Readonly<Record<string, { readonly up_bytes: number; readonly down_bytes: number }>>
  readonly series?: readonly { readonly at: string; readonly up_bytes: number; readonly down_bytes: number }[]
}

/** A SIM record as a test reads it. */
export interface SimBody {
  readonly imsi_sha256_12: ImsiHash
  readonly state: string
  readonly suspend_reason: string | null
  readonly quota_bytes: number | null
  readonly usage_bytes: number
  readonly allowed_bytes: number | null
  readonly provisioning: { readonly status: string }
}

/** The kernel, SIMs, a network in memory, a ledger and quotas. */
export interface World extends AsyncDisposable {
  readonly bed: Testbed
  readonly clock: FakeClock
  readonly network: Network
  readonly ledger: TestLedger
  issue(imsi: string, body?: object): Promise<ImsiHash>
  count(hash: ImsiHash, upBytes: number, downBytes?: number, atMs?: number): Promise<void>
  quota(hash: ImsiHash, body: object): Promise<UsageBody>
  usage(hash: ImsiHash, query?: string): Promise<UsageBody>
  sim(hash: ImsiHash): Promise<SimBody>
  /** Until the SIM is in that state for that reason. */
  becomes(hash: ImsiHash, state: string, reason?: string | null): Promise<void>
  close(): Promise<void>
}

/** A world that begins then: noon of 15 June 2026 when absent. `fairuse` is configuration. */
export async function world(
  fairuse: object = {},
  startMs: number = Date.UTC(2026, 5, 15, 12),
): Promise<World> {
  const { startTestbed } = await loadTestbed()
  const net = network()
  const clock = fakeClock(startMs)
  const stopClock = letTimePass(clock)
  const ledgers: TestLedger[] = []
  const bed = await startTestbed({
    plugins: [
      ...['sims', 'collectors'].map((name) => ({
        dir: fileURLToPath(new URL(`../../../${name}`, import.meta.url)),
      })),
      ...net.plugins,
      ledgerPlugin((ledger) => void ledgers.push(ledger)),
      await pluginFrom(new URL('../world.ts', import.meta.url).href, plugin),
    ],
    clock,
    settings: { collector: { enabled: true } },
    config: {
      sims: { attach_interval: '100ms' },
      fairuse: { enabled: true, time_zone: 'UTC', usage_interval: '1s', ...fairuse },
    },
  })
  const [ledger] = ledgers
  if (ledger === undefined) throw new Error('the ledger is not loaded')
  const sim = async (hash: ImsiHash): Promise<SimBody> => bodyOf(await bed.request('GET', `/v1/sims/${hash}`))
  return {
    bed,
    clock,
    network: net,
    ledger,
    sim,
    issue: async (imsi, body = {}) => {
      bodyOf(await bed.request('POST', '/v1/sims', { body: { imsi, ...body } }), 201)
      const hash = imsiHash(imsi as Imsi)
      await eventually(async () => assert.is((await sim(hash)).provisioning.status, 'synced'))
      return hash
    },
    count: (imsi, upBytes, downBytes = 0, atMs = clock.nowMs()) =>
      ledger.count([
        { imsi, source: 'gtpu', upBytes, downBytes, isIncomplete: false, fromMs: atMs, toMs: atMs },
      ]),
    quota: async (hash, body) => bodyOf(await bed.request('POST', `/v1/sims/${hash}/quota`, { body })),
    usage: async (hash, query = '') => bodyOf(await bed.request('GET', `/v1/sims/${hash}/usage${query}`)),
    becomes: async (hash, state, reason) => {
      await eventually(async () => {
        const now = await sim(hash)
        assert.equal([now.state, now.suspend_reason], [state, reason ?? null])
      })
    },
    async [Symbol.asyncDispose](this: World) {
      await this.close()
    },
    close: async () => {
      await bed.stop()
      await stopClock()
    },
  }
}

/** An HSS and a core in memory. */
interface Network {
  readonly held: Map<Imsi, Subscriber>
  readonly attached: Set<Imsi>
  readonly plugins: readonly InlinePlugin[]
}

/** A network without phones, as two plugins. */
function network(): Network {
  const hss = fakeHss()
  const core = fakeCore()
  return {
    held: hss.held,
    attached: core.attached,
    plugins: [driverPlugin('hss', hss), driverPlugin('core', core)],
  }
}
