import { statfs } from 'node:fs/promises'
import {
  type AgentView,
  agentWatchRef,
  type ComponentState,
  type Context,
  certificateEndsRef,
  clockJudgeRef,
  countText,
  healthBoardRef,
  type ImsiHash,
  INCIDENT_TITLES,
  type Incident,
  type IncidentKind,
  incidentBoardRef,
  type MetricReading,
  metricsReaderRef,
  quotaWatchRef,
  type StateEvent,
} from '@steeple/contracts'
import type { AlertsConfig } from '../config.ts'
import type { AlertMetrics } from '../metrics.ts'
import { FACTS } from '../store/fact-store.ts'
import { type Finding, type Level, type Look, levelOf, lookOf, type Rule, type Watch } from './rule.ts'
import { numberText, seriesName, thresholdWatch } from './thresholds.ts'

const HSS: Rule = { name: 'hss_push_failing', severity: 'warning', forMs: 60_000, clearMs: 60_000 }
const SURGE: Rule = { name: 'session_surge', severity: 'warning', forMs: 60_000, clearMs: 60_000 }
const DISARMED: Rule = { name: 'tx_auto_disarmed', severity: 'critical', forMs: 0, clearMs: 0 }
const QUOTA_80: Rule = { name: 'sim_quota_80', severity: 'info', forMs: 0, clearMs: 60_000 }
const QUOTA_100: Rule = { name: 'sim_quota_100', severity: 'warning', forMs: 0, clearMs: 60_000 }
/** Share of `policy.max_ues` at which a surge is over. */
const SURGE_CLEAR = 0.95
const UNSYNCED = 'svc_sims_unsynced'
const SESSIONS = 'svc_sessions_active'
const FACT = 'tx_auto_disarmed'

/** Whether the HSS takes what it is given, and whether there are more sessions than phones are planned for. */
function loadWatch(context: Context): Watch {
  return {
    rules: [HSS, SURGE],
    looks: async () => {
      const readings = await context.use(metricsReaderRef).read([UNSYNCED, SESSIONS])
      const unsynced = readings.get(UNSYNCED)
      const samples = readings.get(SESSIONS)?.samples
      const sessions = samples?.reduce((sum, { value }) => sum + value, 0)
      const most = context.settings.policy.max_ues
      return [
        lookOf(HSS, new Map(hssOf(unsynced, isHssAway(context)))),
        lookOf(
          SURGE,
          new Map(
            of(
              'sessions',
              sessions,
              most,
              most * SURGE_CLEAR,
              `${countText(sessions ?? 0, 'session')}, more than policy.max_ues (${most})`,
            ),
          ),
        ),
      ]
    },
  }
}

function isHssAway(context: Context): boolean {
  return context
    .use(healthBoardRef)
    .components()
    .some(({ kind, status }) => kind === 'hss' && status === 'down')
}

/** SIMs that the HSS has refused, and while it does not answer those that wait for it. */
function hssOf(unsynced: MetricReading | undefined, isAway: boolean): ReturnType<typeof of> {
  const count = (status: string): number | undefined =>
    unsynced?.samples.find(({ labels }) => labels.status === status)?.value
  const failed = count('failed')
  const waiting = isAway ? (count('pending') ?? 0) : 0
  const refused = `${countText(failed ?? 0, 'SIM')} could not be written to the HSS`
  const message = waiting > 0 ? `${refused}, ${waiting} wait for it: it does not answer` : refused
  return of('hss', failed === undefined ? undefined : failed + waiting, 0, 0, message)
}

function of(
  subject: string,
  value: number | undefined,
  threshold: number,
  clear: number,
  message: string,
): readonly (readonly [string, Finding])[] {
  if (value === undefined) return []
  return [[subject, { level: levelOf(value, '>', threshold, clear), value, threshold, message }]]
}

/**
 * A transmitter that was switched off by the gate itself: bad until somebody arms again, or disarms and so says that it is to
 * stay off. Hears of both by events, which the outbox keeps over a crash.
 */
function disarmWatch(context: Context): Watch {
  const forget = (): Promise<boolean> => context.db.write((tx) => FACTS.remove(tx, { name: FACT }))
  return {
    rules: [DISARMED],
    looks: async () => {
      const fact = await FACTS.find(context.db, { name: FACT })
      const finding: Finding = {
        level: fact === undefined ? 'good' : 'bad',
        value: undefined,
        threshold: undefined,
        message: `TX has disarmed itself (profile ${fact?.subject ?? ''}); svc tx status says why`,
      }
      return [lookOf(DISARMED, new Map([['tx', finding]]))]
    },
    listen: () => {
      context.on('tx.auto_disarmed', ({ atMs, subject }: StateEvent) =>
        context.db.write((tx) => FACTS.put(tx, { name: FACT, at_ms: Math.floor(atMs), subject })),
      )
      for (const type of ['tx.arm', 'tx.disarm'])
        context.on(type, async ({ atMs }: StateEvent) => {
          const fact = await FACTS.find(context.db, { name: FACT })
          // Each kind of event comes in its own order.
          if (fact !== undefined && atMs >= fact.at_ms) await forget()
        })
    },
  }
}

/** SIMs that have used up their quota of the period, or four fifths of it. */
function quotaWatch(context: Context): Watch {
  return {
    rules: [QUOTA_80, QUOTA_100],
    looks: async () => {
      const edges = await context.maybe(quotaWatchRef)?.edges()
      // Not counted yet, or nobody keeps quotas any more.
      if (edges === undefined) return [QUOTA_80, QUOTA_100].map((rule) => lookOf(rule, new Map()))
      return [quotaLook(QUOTA_80, 80, edges.warned), quotaLook(QUOTA_100, 100, edges.exceeded)]
    },
  }
}

/** Made without a finding for each SIM: there may be a hundred thousand. */
function quotaLook(rule: Rule, threshold: number, percents: ReadonlyMap<ImsiHash, number>): Look {
  return {
    rule,
    isBlind: false,
    badCount: percents.size,
    bad: () => percents.keys(),
    at: (subject) => {
      // Subjects of these rules are hashes; another text is in no map.
      const percent = percents.get(subject as ImsiHash)
      if (percent === undefined) return { level: 'good', value: undefined, threshold, message: '' }
      const value = Math.floor(percent)
      return {
        level: 'bad',
        value,
        threshold,
        message: `SIM ${subject} has used ${numberText(value)} % of its quota`,
      }
    },
  }
}

const DAY_S = 86_400
/** Share of the file system that is free; what ends it is a fifth more, so that one log file more or less moves nothing. */
const LOW = {
  rule: ruleOf('disk_low', 'warning', 60_000, 0),
  free: 0.1,
  clear: 0.12,
  kind: 'disk_low',
} as const
const FULL = {
  rule: ruleOf('disk_almost_full', 'critical', 0, 0),
  free: 0.03,
  clear: 0.04,
  kind: 'disk_full',
} as const
/** Seconds that a certificate is still good for. A node's own renews itself at half of its 30 days. */
const EXPIRING = { rule: ruleOf('certificate_expiring', 'warning', 0, 0), left: 14 * DAY_S }
const EXPIRED = { rule: ruleOf('certificate_expired', 'critical', 0, 0), left: DAY_S }
const SKEW = ruleOf('clock_skew', 'warning', 30_000, 0)
/** Seconds that an agent's clock may be off; half of it is well. As `GET /v1/health` judges them. */
const MOST_SKEW_S = 10
const ESIM_METRIC = 'svc_esim_smdp_certificate_expires_seconds'

function ruleOf(name: string, severity: Rule['severity'], forMs: number, clearMs: number): Rule {
  return { name, severity, forMs, clearMs }
}

/** The room on the disk, and its metric. */
function diskWatch(context: Context, metrics: AlertMetrics): Watch {
  return {
    rules: [LOW.rule, FULL.rule],
    looks: async () => {
      const path = context.settings.server.data_dir
      const { bavail, blocks } = await statfs(path)
      const ratio = blocks === 0 ? 1 : bavail / blocks
      metrics.diskFree(ratio)
      const detail = `${numberText(Math.round(ratio * 1_000) / 10)} % of the file system of ${path} is free`
      return [LOW, FULL].map(({ rule, free, clear, kind }) => {
        const message = `${INCIDENT_TITLES[kind]}: ${detail}`
        const level = levelOf(ratio, '<', free, clear)
        return lookOf(rule, new Map([['disk', { level, value: ratio, threshold: free, message }]]))
      })
    },
  }
}

/** Certificates that end: the node's own, the one that the listener presents, those of the SM-DP+. */
function certificateWatch(context: Context): Watch {
  return {
    rules: [EXPIRING.rule, EXPIRED.rule],
    looks: async () => {
      const ends = (await context.maybe(certificateEndsRef)?.ends()) ?? []
      const nowMs = context.clock.nowMs()
      const left = new Map([...ends].map(([name, endMs]) => [name, (endMs - nowMs) / 1_000]))
      for (const [name, seconds] of await esimCertificates(context)) left.set(name, seconds)
      return [EXPIRING, EXPIRED].map(({ rule, left: least }) =>
        lookOf(rule, new Map([...left].map(([name, seconds]) => [name, endingOf(name, seconds, least)]))),
      )
    },
  }
}

function endingOf(name: string, seconds: number, least: number): Finding {
  const value = Math.round(seconds)
  const days = numberText(Math.round((seconds / DAY_S) * 10) / 10)
  const detail = seconds < 0 ? 'has ended' : `ends in ${countText(days, 'day')}`
  const message = `${INCIDENT_TITLES.certificate_ending}: ${name} ${detail}`
  return { level: levelOf(seconds, '<', least), value, threshold: least, message }
}

async function esimCertificates(context: Context): Promise<ReadonlyMap<string, number>> {
  const reading = (await context.use(metricsReaderRef).read([ESIM_METRIC])).get(ESIM_METRIC)
  return new Map(
    (reading?.samples ?? []).map(({ labels, value }) => [`of the SM-DP+ (${seriesName(labels)})`, value]),
  )
}

/** Clocks: this machine's, when it is not believed, and those of agents. */
function clockWatch(context: Context): Watch {
  return {
    rules: [SKEW],
    looks: async () => {
      const { machineMs, serviceMs, doubt } = context.use(clockJudgeRef).view()
      const seconds = Math.round((machineMs - serviceMs) / 1_000)
      const own: Finding = {
        level: doubt === undefined ? 'good' : 'bad',
        value: seconds,
        threshold: undefined,
        message: `${INCIDENT_TITLES.clock_wrong}: the clock of this machine is not believed: ${doubt ?? ''}`,
      }
      const agents = (await context.maybe(agentWatchRef)?.agents()) ?? []
      const others = agents.filter(({ isStale }) => !isStale).map(agentClock)
      return [lookOf(SKEW, new Map([['clock', own], ...others]))]
    },
  }
}

function agentClock({
  nodeId,
  name,
  skewMs,
}: {
  readonly nodeId: string
  readonly name: string
  readonly skewMs: number
}): readonly [string, Finding] {
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  const way = skewMs > 0 ? 'ahead' : 'behind'
  const message = `the clock of ${name === '' ? nodeId : name} is ${seconds} s ${way}`
  const level = levelOf(Math.abs(skewMs) / 1_000, '>', MOST_SKEW_S, MOST_SKEW_S / 2)
  return [`node/${nodeId}`, { level, value: Math.round(skewMs / 1_000), threshold: MOST_SKEW_S, message }]
}

/** A component is down for so long before somebody is told: a restart takes as long. It is over with its outage, as the pages say. */
const DOWN: Rule = { name: 'component_down', severity: 'critical', forMs: 60_000, clearMs: 0 }
/** A heartbeat that is missing has been waited for already: three of its intervals. */
const STALE: Rule = { name: 'heartbeat_stale', severity: 'critical', forMs: 0, clearMs: 0 }

/** Incidents in which nothing is down, and somebody has to look all the same. */
const QUIET: readonly IncidentKind[] = ['no_registration', 'nobody_attached', 'backup_overdue']
const QUIET_RULES: readonly Rule[] = QUIET.map((kind) => ruleOf(kind, 'warning', 60_000, 0))
/** Incidents with rules of their own, which say how full or how wrong it is. */
const RULED: ReadonlySet<IncidentKind> = new Set([
  ...(['disk_full', 'disk_low', 'clock_wrong', 'certificate_ending'] as const),
])

/** Components of this service and of agents that are down, and agents that do not show. What follows from an incident is told with it. */
function componentWatch(context: Context): Watch {
  const outagesOf = outagesElsewhere()
  return {
    rules: [DOWN, STALE, ...QUIET_RULES],
    looks: async () => {
      const incidents = (await context.maybe(incidentBoardRef)?.current()) ?? []
      const toldElsewhere = new Set(
        incidents.flatMap(({ kind, cause, effects }) => [
          ...effects,
          ...(RULED.has(kind) ? [cause.name] : []),
        ]),
      )
      const words = new Map(incidents.map((incident) => [incident.cause.name, incidentWords(incident)]))
      const agents = (await context.maybe(agentWatchRef)?.agents()) ?? []
      const own = context.use(healthBoardRef).components()
      const fresh = agents.filter(({ isStale }) => !isStale)
      const reported = fresh.flatMap(({ components }) => components.slice(1))
      // What is down there is told with the outage that it belongs to.
      for (const agent of fresh)
        if (agent.incidents?.some(isCritical) === true)
          for (const { name } of agent.components) toldElsewhere.add(name)
      return [
        // What is not listed any more has left with its plugin or its agent.
        lookOf(
          DOWN,
          new Map([
            ...[...own, ...reported].map((one) =>
              downOf(one, toldElsewhere.has(one.name), words.get(one.name)),
            ),
            ...outagesOf(fresh),
          ]),
        ),
        ...QUIET_RULES.map((rule) => quietLook(rule, incidents, words)),
        lookOf(
          STALE,
          new Map(
            agents.map(({ nodeId, name, isStale, silentMs }) => {
              const seconds = Math.round(silentMs / 1_000)
              const message = `${INCIDENT_TITLES.box_silent}: no heartbeat of ${name === '' ? nodeId : name} for ${seconds} s`
              return [`node/${nodeId}`, findingOf(isStale ? 'bad' : 'good', message, seconds)]
            }),
          ),
        ),
      ]
    },
  }
}

function isCritical({ severity }: { readonly severity: string }): boolean {
  return severity === 'critical'
}

/** Outages that other boxes tell of, `node/<id>/<kind>`: also those of which no part that a box needs is down, as a radio. */
function outagesElsewhere(): (fresh: readonly AgentView[]) => readonly (readonly [string, Finding])[] {
  let before = new Set<string>()
  return (fresh) => {
    const now = fresh.flatMap(({ nodeId, name, incidents = [] }) =>
      incidents.filter(isCritical).map(({ kind, title }) => {
        const message = `${name === '' ? nodeId : name}: ${title}`
        return [`node/${nodeId}/${kind}`, findingOf('bad', message)] as const
      }),
    )
    const subjects = new Set<string>(now.map(([subject]) => subject))
    const answers = new Set(fresh.map(({ nodeId }) => nodeId))
    const over = [...before].filter(
      (subject) => !subjects.has(subject) && answers.has(subject.split('/')[1] ?? ''),
    )
    before = new Set([...subjects, ...over])
    return [...now, ...over.map((subject) => [subject, findingOf('good', '')] as const)]
  }
}

/** `No radio, 14 phones are off`; of a part, which one. */
function incidentWords({ kind, title, phonesOff, cause }: Incident): string {
  // Of another box the title says which: its parts are called as they are there.
  if (kind === 'part')
    return `${title}: ${cause.box === undefined ? cause.name : cause.name.replace(/^node\/[^/]+\//, '')}`
  return phonesOff === undefined ? title : `${title}, ${countText(phonesOff, 'phone is', 'phones are')} off`
}

/**
 * A component that is degraded works: it is no reason to say that it is down, and none to say that it is well. The same goes for one that is
 * down because of another.
 */
function downOf(
  { name, status, detail }: ComponentState,
  isToldElsewhere: boolean,
  incident = `${INCIDENT_TITLES.part}: ${name}`,
): readonly [string, Finding] {
  const level = { ok: 'good', degraded: 'between', down: isToldElsewhere ? 'between' : 'bad' } as const
  return [name, findingOf(level[status], `${incident}${detail === '' ? '' : `: ${detail}`}`)]
}

/** An incident in which nothing is down. */
function quietLook(rule: Rule, incidents: readonly Incident[], words: ReadonlyMap<string, string>): Look {
  const found = incidents.filter(({ kind, severity }) => kind === rule.name && severity === 'warning')
  const findings = found.map(
    ({ cause }) => [cause.name, findingOf('bad', `${words.get(cause.name)}: ${cause.detail}`)] as const,
  )
  return lookOf(rule, new Map(findings), 'good')
}

function findingOf(level: Level, message: string, value?: number): Finding {
  return { level, value, threshold: undefined, message }
}

/** What is looked at: the built-in rules of contract section 10 but those that are disabled, and those of the configuration. */
export function watchesOf(context: Context<AlertsConfig>, metrics: AlertMetrics): readonly Watch[] {
  const all = [
    componentWatch(context),
    diskWatch(context, metrics),
    certificateWatch(context),
    clockWatch(context),
    loadWatch(context),
    disarmWatch(context),
    quotaWatch(context),
  ]
  const disabled = new Set(context.config.disabled_rules)
  return [...all.map((watch) => without(watch, disabled)), thresholdWatch(context)]
}

function without(watch: Watch, disabled: ReadonlySet<string>): Watch {
  const rules = watch.rules.filter(({ name }) => !disabled.has(name))
  if (rules.length === watch.rules.length) return watch
  return {
    ...watch,
    rules,
    looks: async () =>
      rules.length === 0 ? [] : (await watch.looks()).filter(({ rule }) => !disabled.has(rule.name)),
  }
}
