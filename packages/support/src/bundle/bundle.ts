import {
  auditTrailRef,
  type Context,
  introspectionRef,
  logControlRef,
  nodeIdentityRef,
  serviceInfoRef,
} from '@steeple/contracts'
import type { HealthHistory } from '../health-history.ts'
import { type BundleFile, bundleOf, jsonOf } from './archive.ts'
import { auditHead } from './audit-head.ts'
import { cleanText, type Scrub } from './clean-text.ts'
import { hidesOf } from './hidden-words.ts'
import { publicLogLine } from './log-lines.ts'
import { machineFacts } from './machine.ts'
import { publicConfig } from './public-config.ts'
import { publicMetrics } from './public-metrics.ts'
import { storeTimings, timingsOf } from './timings.ts'

/** Takes out of a text what is secret, and what the configuration does not show. */
export function scrubOf(context: Context): Scrub {
  let made: { readonly settings: unknown; readonly hides: Scrub } | undefined
  return (text) => {
    const looked = context.use(introspectionRef)
    const { settings } = context
    if (made?.settings !== settings) made = { settings, hides: hidesOf(looked.configSchema(), settings) }
    return made.hides(looked.scrub(text))
  }
}

/** The octets of a bundle of this moment. */
export function takeBundle(context: Context, history: HealthHistory, scrub: Scrub): AsyncIterable<Buffer> {
  const nowMs = context.clock.nowMs()
  const about = {
    format: 1,
    made_at: new Date(nowMs).toISOString(),
    node_id: context.use(nodeIdentityRef).nodeId,
    version: context.use(serviceInfoRef).version,
    offline: false,
  }
  const reasonOf = (error: unknown): string => cleanText(String(error), scrub)
  return bundleOf(filesOf(context, history, scrub), about, { nowMs, reasonOf })
}

function filesOf(context: Context, history: HealthHistory, scrub: Scrub): readonly BundleFile[] {
  const looked = context.use(introspectionRef)
  let taken: Promise<string> | undefined
  const metrics = (): Promise<string> => {
    taken ??= looked.metricsText().then((text) => publicMetrics(text, scrub))
    return taken
  }
  const json = (name: string, make: () => unknown): BundleFile => ({
    name,
    make: async () => jsonOf(await make()),
  })
  return [
    json('versions.json', () => versionsOf(context)),
    json('config.json', () => publicConfig(looked.configSchema(), context.settings)),
    json('plugins.json', () => pluginsOf(context, scrub)),
    json('health.json', () => ({ now: history.now(), changes: history.changes() })),
    json('log-level.json', () => levelOf(context)),
    {
      name: 'log.jsonl',
      make: async () =>
        looked
          .logLines()
          .map((line) => `${publicLogLine(line, scrub)}\n`)
          .join(''),
    },
    { name: 'metrics.txt', make: metrics },
    json('timings.json', async () => ({
      store: await storeTimings(context),
      metrics: timingsOf(await metrics()),
    })),
    json('audit.json', () => auditHead(context.use(auditTrailRef))),
  ]
}

function versionsOf(context: Context): object {
  const info = context.use(serviceInfoRef)
  const { version, commit, buildDate, startedAtMs } = info
  const { role, epoch, isMachine } = info.instance()
  return {
    service: version,
    commit: commit ?? null,
    build_date: buildDate ?? null,
    started_at: new Date(startedAtMs).toISOString(),
    instance: { role, epoch, is_machine: isMachine },
    store: context.db.dialect,
    clock_doubt: context.clock.doubt?.() ?? null,
    ...machineFacts(),
  }
}

function pluginsOf(context: Context, scrub: Scrub): readonly object[] {
  const plugins = context.use(introspectionRef).plugins()
  return plugins.map(({ loadedAtMs, error, ...plugin }) => ({
    ...plugin,
    loaded_at: loadedAtMs === undefined ? null : new Date(loadedAtMs).toISOString(),
    error: error === undefined ? null : cleanText(error, scrub),
  }))
}

function levelOf(context: Context): object {
  const control = context.use(logControlRef)
  const holds = control
    .holds()
    .map(({ component, level, untilMs }) => ({ component, level, until: new Date(untilMs).toISOString() }))
  return { level: control.level(), components: control.components(), holds }
}
