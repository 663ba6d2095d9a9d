import { hash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import {
  auditTrailRef,
  type Context,
  healthBoardRef,
  introspectionRef,
  logControlRef,
  nodeIdentityRef,
  serviceInfoRef,
} from '@steeple/contracts'
import type { HealthHistory } from '../health-history.ts'
import { levelView } from '../routes/level-routes.ts'
import { auditHead, type BundleFile, bundleOf, jsonFile, machineFacts } from './archive.ts'
import { cleanText, LEFT_OUT, type Scrub } from './clean-text.ts'
import { hidesOf } from './hidden-words.ts'
import { publicConfig } from './public-config.ts'

/** Facts whose texts are the service's own words. Others may hold what somebody has typed. */
const OWN_WORDS: ReadonlySet<string> = new Set([
  ...['level', 'time', 'msg', 'plugin', 'component', 'resource', 'code', 'route', 'method', 'result'],
  ...[
    'state',
    'status',
    'step',
    'service',
    'table',
    'driver',
    'dialect',
    'version',
    'signal',
    'kind',
    'type',
  ],
  ...['from', 'to', 'mode', 'metric', 'reconcileId', 'severity', 'capability', 'daemon'],
])
/** Facts that tell why something went wrong, in words. */
const REASONS: ReadonlySet<string> = new Set([
  'reason',
  'detail',
  'error',
  'why',
  'warning',
  'remedy',
  'last',
])
/** How the code calls facts, and types and codes of errors. */
const OWN_NAME = /^[A-Za-z]\w{0,39}$/
/** Larger ones may be somebody's number. A time in ms has 13 digits. */
const LARGEST_NUMBER = 1e9
const OWN_REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * A line of the log for somebody outside: numbers, truth values, facts that are the service's own words, reasons, and of
 * errors type, code, message and where they came from. The rest of it is `[left out]`.
 */
export function publicLogLine(line: string, scrub: Scrub): string {
  const facts = parsed(line)
  if (facts === undefined) return JSON.stringify({ msg: LEFT_OUT })
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(facts).map(([name, value]) => [
        OWN_NAME.test(name) ? name : LEFT_OUT,
        shown(name, value, scrub),
      ]),
    ),
  )
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    // It was too long, and lost its end.
    return undefined
  }
}

function shown(name: string, value: unknown, scrub: Scrub): unknown {
  if (typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Math.abs(value) < LARGEST_NUMBER ? value : LEFT_OUT
  if (name === 'err') return shownError(value, scrub, 0)
  if (Array.isArray(value)) return `${value.length} items ${LEFT_OUT}`
  if (typeof value !== 'string') return LEFT_OUT
  if (name === 'request_id') return OWN_REQUEST_ID.test(value) ? value : digestOf(value)
  // Who it was is nobody's business; what kind of caller it was may matter.
  if (name === 'principal') return value.split(':')[0]
  return OWN_WORDS.has(name) || REASONS.has(name) ? cleanText(value, scrub) : LEFT_OUT
}

/** An id that a client chose: the same one for all of its lines. */
function digestOf(id: string): string {
  return `given-${hash('sha256', id).slice(0, 8)}`
}

const DEEPEST_CAUSE = 4

function shownError(value: unknown, scrub: Scrub, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return LEFT_OUT
  const { type, code, message, stack, cause } = value as Readonly<Record<string, unknown>> // any may be absent
  const text = (one: unknown): string | undefined =>
    typeof one === 'string' || typeof one === 'number' ? cleanText(String(one), scrub) : undefined
  const word = (one: unknown): string | undefined =>
    one === undefined ? undefined : OWN_NAME.test(String(one)) ? text(one) : LEFT_OUT
  return {
    type: word(type),
    code: word(code),
    message: text(message),
    at: typeof stack === 'string' ? framesOf(stack) : undefined,
    cause: cause === undefined || depth === DEEPEST_CAUSE ? undefined : shownError(cause, scrub, depth + 1),
  }
}

/** Function, file and line, without folders: these may be somebody's home. */
function framesOf(stack: string): readonly string[] {
  const frames = stack.matchAll(
    /^\s+at (?:(?:async )?([\w.#<>[\] ]{1,100}) \()?[^\n)]*?([\w.-]+:\d+:\d+)\)?$/gm,
  )
  return [...frames]
    .slice(0, 20)
    .map(([, name, place]) => (name === undefined ? `${place}` : `${name} ${place}`))
}

/** A label of a sample, in the text exposition format. */
const LABELS = /(?<=[{,][a-zA-Z_]\w*=")(?:[^"\\\n]|\\.)*(?=")/g
/** The labels that the edge sets; patterns of routes look like paths. */
const OWN = /^svc_http_/

/**
 * Metrics for somebody outside: names and numbers as they are, the values of labels cleaned as any text of a plugin. A value stands in
 * hundreds of lines and is cleaned once.
 */
export function publicMetrics(text: string, scrub: Scrub): string {
  const clean = onceEach((value) => cleanText(value, scrub))
  const own = onceEach(scrub)
  return text
    .split('\n')
    .map((line) =>
      line.startsWith('#') ? scrub(line) : line.replaceAll(LABELS, OWN.test(line) ? own : clean),
    )
    .join('\n')
}

function onceEach(work: Scrub): Scrub {
  const known = new Map<string, string>()
  return (value) => {
    const done = known.get(value) ?? work(value)
    known.set(value, done)
    return done
  }
}

const ROUNDS = 5
/** Families of the metrics that say how long something takes. */
const FAMILIES =
  /^(nodejs_eventloop_|svc_reconcile_|svc_http_request_duration_seconds_(sum|count)|process_cpu|process_res)/

/** How long the store takes for an empty write and a read, ms, each of some rounds. */
async function storeTimings(context: Context): Promise<Readonly<Record<string, readonly number[]>>> {
  const write: number[] = []
  const read: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    write.push(await timed(() => context.db.write(async () => undefined)))
    read.push(await timed(() => context.db.get('select 1 as one')))
  }
  return { write_ms: write, read_ms: read }
}

/** Lines of the metrics that are timings. */
function timingsOf(metrics: string): readonly string[] {
  return metrics.split('\n').filter((line) => FAMILIES.test(line))
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunMs = performance.now()
  await work()
  return Math.round((performance.now() - begunMs) * 100) / 100
}

/** Takes out of a text what is secret, and what the configuration does not show. */
export function scrubOf(context: Context): Scrub {
  let made: { readonly settings: unknown; readonly names: string; readonly hides: Scrub } | undefined
  return (text) => {
    const looked = context.use(introspectionRef)
    const { settings } = context
    const chosen = context
      .use(healthBoardRef)
      .components()
      .flatMap((component) => component.chosen ?? [])
    const names = JSON.stringify(chosen)
    if (made?.settings !== settings || made.names !== names)
      made = { settings, names, hides: hidesOf(looked.configSchema(), settings, chosen) }
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
  return [
    jsonFile('versions.json', () => versionsOf(context)),
    jsonFile('config.json', () => publicConfig(looked.configSchema(), context.settings)),
    jsonFile('plugins.json', () => pluginsOf(context, scrub)),
    jsonFile('health.json', () => ({ now: history.now(), changes: history.changes() })),
    jsonFile('log-level.json', () => levelView(context, context.use(logControlRef).holds())),
    {
      name: 'log.jsonl',
      make: async () =>
        looked
          .logLines()
          .map((line) => `${publicLogLine(line, scrub)}\n`)
          .join(''),
    },
    { name: 'metrics.txt', make: metrics },
    jsonFile('timings.json', async () => ({
      store: await storeTimings(context),
      metrics: timingsOf(await metrics()),
    })),
    jsonFile('audit.json', () => auditHead(context.use(auditTrailRef))),
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
