import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ComponentHealth, Context, Metrics, Plugin } from '@steeple/contracts'
import {
  bodyOf,
  type FakeClock,
  fakeClock,
  type InlinePlugin,
  letTimePass,
  loadTestbed,
  pluginFrom,
  type Testbed,
  tempDir,
} from '@steeple/testkit'
import { plugin } from '../../src/plugin.ts'
import { type Receiver, SECRET, startReceiver } from './receiver.ts'

/** An alert as a test reads it. */
export interface AlertBody {
  readonly id: string
  readonly rule: string
  readonly severity: string
  readonly state: string
  readonly subject: string
  readonly message: string
  readonly value: number | null
  readonly threshold: number | null
  readonly started_at: string
  readonly firing_at: string | null
  readonly resolved_at: string | null
  readonly acked_by: string | null
  readonly acked_at: string | null
  readonly silenced_until: string | null
}

/** The kernel with alerts, a metric that tests set, and a receiver. */
export interface World extends AsyncDisposable {
  readonly bed: Testbed
  readonly clock: FakeClock
  readonly receiver: Receiver
  readonly metrics: Metrics
  /** Sets `svc_gauge_level`; of a place when one is named. */
  set(value: number, place?: string): void
  /** Says how the component `gauge` is from now on. */
  ail(status: ComponentHealth['status']): void
  alerts(query?: string): Promise<readonly AlertBody[]>
  close(): Promise<void>
}

/** Noon of 15 June 2026. */
const START_MS = Date.UTC(2026, 5, 15, 12)
const RULE = {
  name: 'high',
  metric: 'svc_gauge_level',
  op: '>',
  threshold: 10,
  for: '0s',
  severity: 'warning',
}

/** A rule over `svc_gauge_level`: over 10, at once, a warning; changed as said. */
export function ruleWith(changes: object = {}): object {
  return { ...RULE, ...changes }
}

/** Starts one; `alerts` is configuration beside a webhook `ops` to the receiver. */
export async function world(alerts: object = {}, webhook: object = {}): Promise<World> {
  const { startTestbed } = await loadTestbed()
  const folder = await tempDir()
  const secretFile = join(folder.path, 'secret')
  await writeFile(secretFile, `${SECRET}\n`, { mode: 0o600 })
  const receiver = await startReceiver(SECRET, true)
  const clock = fakeClock(START_MS)
  const stopClock = letTimePass(clock)
  const made: Context[] = []
  let status: ComponentHealth['status'] = 'ok'
  const bed = await startTestbed({
    plugins: [
      gaugePlugin(
        (context) => void made.push(context),
        () => status,
      ),
      await pluginFrom(new URL('../world.ts', import.meta.url).href, plugin),
    ],
    clock,
    config: {
      alerts: {
        enabled: true,
        interval: '1s',
        // The store of a testbed lacks an anchor that a box has.
        disabled_rules: ['component_down'],
        rules: [ruleWith()],
        webhooks: [
          { name: 'ops', url: receiver.url, secret_file: secretFile, allow_private: true, ...webhook },
        ],
        ...alerts,
      },
    },
  })
  const [context] = made
  if (context === undefined) throw new Error('the gauge is not loaded')
  const { metrics } = context
  const gauge = metrics.gauge('svc_gauge_level', 'A level.', ['place'])
  return {
    bed,
    clock,
    receiver,
    metrics,
    set: (value, place) => gauge.set(value, place === undefined ? {} : { place }),
    ail: (now) => {
      status = now
      context.healthChanged()
    },
    alerts: async (query = '') => {
      const response = await bed.request('GET', `/v1/alerts${query}`)
      return bodyOf<{ readonly alerts: readonly AlertBody[] }>(response).alerts
    },
    async [Symbol.asyncDispose](this: World) {
      await this.close()
    },
    close: async () => {
      await bed.stop()
      await stopClock()
      await receiver.close()
      await folder.remove()
    },
  }
}

function gaugePlugin(
  made: (context: Context) => void,
  status: () => ComponentHealth['status'],
): InlinePlugin {
  const gauge: Plugin = {
    setup: async (context) => {
      made(context)
      return { health: async () => [{ name: 'gauge', kind: 'feature', status: status(), detail: '' }] }
    },
  }
  return {
    name: '@test/gauge',
    version: '0.0.1',
    manifest: {
      id: 'gauge',
      kind: 'feature',
      contracts: '*',
      config_path: 'gauge',
      handover: 'overlap',
      metrics: { svc_gauge_level: 'A level.', svc_gauge_total: 'A count.' },
    },
    plugin: gauge,
  }
}
