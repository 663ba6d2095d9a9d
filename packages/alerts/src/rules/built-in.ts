import { statfs } from 'node:fs/promises'
import {
  type AgentView,
  type AlertSource,
  agentWatchRef,
  type ComponentState,
  type Context,
  certificateEndsRef,
  clockJudgeRef,
  countText,
  healthBoardRef,
  INCIDENT_TITLES,
  type Incident,
  type IncidentKind,
  incidentBoardRef,
  type MetricReading,
  metricsReaderRef,
  type ServiceInfo,
  type StateEvent,
  serviceInfoRef,
  serviceRef,
} from '@steeple/contracts'
import type { AlertsConfig } from '../config.ts'
import type { AlertMetrics } from '../metrics.ts'
import type { AlertParts } from '../parts.ts'
import { FACTS } from '../store/alert-store.ts'
import {
  type Finding,
  type Level,
  type Look,
  levelOf,
  lookOf,
  type Rule,
  type RuleRow,
  ruleOf,
  type Watch,
} from './rule.ts'
import { numberText, seriesName, thresholdWatch } from './thresholds.ts'

/** Share of `policy.max_ues` at which a surge is over. */
const SURGE_CLEAR = 0.95
const UNSYNCED = 'svc_sims_unsynced'
const SESSIONS = 'svc_sessions_active'
const FACT = 'tx_auto_disarmed'

/** Whether the HSS takes what it is given, and whether there are more sessions than phones are planned for. */
function loadWatch(context: Context, rule: RuleByName): Watch {
  return {
    about: 'load',
    looks: async () => {
      const readings = await context.use(metricsReaderRef).read([UNSYNCED, SESSIONS])
      const unsynced = readings.get(UNSYNCED)
      const samples = readings.get(SESSIONS)?.samples
      const sessions = samples?.reduce((sum, { value }) => sum + value, 0)
      const most = context.settings.policy.max_ues
      return [
        lookOf(rule('hss_push_failing'), hssOf(unsynced, isHssAway(context))),
        lookOf(
          rule('session_surge'),
          of(
            'sessions',
            sessions,
            most,
            most * SURGE_CLEAR,
            `${countText(sessions ?? 0, 'session')}, more than policy.max_ues (${most})`,
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
function hssOf(unsynced: MetricReading | undefined, isAway: boolean): ReadonlyMap<string, Finding> {
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
): ReadonlyMap<string, Finding> {
  if (value === undefined) return new Map()
  return new Map([[subject, { level: levelOf(value, '>', threshold, clear), value, threshold, message }]])
}

/**
 * A transmitter that was switched off by the gate itself: bad until somebody arms again, or disarms and so says that it is to
 * stay off. Hears of both by events, which the outbox keeps over a crash.
 */
function disarmWatch(context: Context, rule: RuleByName): Watch {
  const forget = (): Promise<boolean> => context.db.write((tx) => FACTS.remove(tx, { name: FACT }))
  return {
    about: 'TX',
    looks: async () => {
      const fact = await FACTS.find(context.db, { name: FACT })
      const message = `TX has disarmed itself (profile ${fact?.subject ?? ''}); svc tx status says why`
      const finding = findingOf(fact === undefined ? 'good' : 'bad', message)
      return [lookOf(rule('tx_auto_disarmed'), new Map([['tx', finding]]))]
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

/** Rules of manifests that say how they are judged. */
function manifestWatch(context: Context, rows: () => readonly RuleRow[]): Watch {
  return {
    about: 'what plugins say',
    looks: async () => {
      const incidents = (await context.maybe(incidentBoardRef)?.current()) ?? []
      const looks = rows().map(async (row) => {
        if (row.incident !== undefined) return incidentLook(ruleOf(row), row.incident, incidents)
        if (row.source === undefined) return []
        const source = context.maybe(serviceRef<AlertSource>(row.source, { bad: 'function' }))
        return sourceLook(row, await source?.bad(row.name))
      })
      return (await Promise.all(looks)).flat()
    },
  }
}

/** Made without a finding for each subject: there may be a hundred thousand. Blind while nobody has counted. */
function sourceLook(row: RuleRow, bad: ReadonlyMap<string, number> | undefined): Look {
  const [rule, { threshold, message = '' }] = [ruleOf(row), row]
  if (bad === undefined) return lookOf(rule, new Map())
  return {
    rule,
    isBlind: false,
    badCount: bad.size,
    bad: () => bad.keys(),
    at: (subject) => {
      const found = bad.get(subject)
      if (found === undefined) return { level: 'good', value: undefined, threshold, message: '' }
      const value = Math.floor(found)
      const said = message.replace('{subject}', subject).replace('{value}', numberText(value))
      return { level: 'bad', value, threshold, message: said }
    },
  }
}

const DAY_S = 86_400
/** Share of the file system that is free; what ends it is a fifth more, so that one log file more or less moves nothing. */
const LOW = { rule: 'disk_low', free: 0.1, clear: 0.12, kind: 'disk_low' } as const
const FULL = { rule: 'disk_almost_full', free: 0.03, clear: 0.04, kind: 'disk_full' } as const
/** Seconds that a certificate is still good for. A node's own renews itself at half of its 30 days. */
const EXPIRING = { rule: 'certificate_expiring', left: 14 * DAY_S }
const EXPIRED = { rule: 'certificate_expired', left: DAY_S }
/** Seconds that an agent's clock may be off; half of it is well. As `GET /v1/health` judges them. */
const MOST_SKEW_S = 10

/** The room on the disk, and its metric. */
function diskWatch(context: Context, metrics: AlertMetrics, ruleByName: RuleByName): Watch {
  return {
    about: 'the disk',
    looks: async () => {
      const path = context.settings.server.data_dir
      const { bavail, blocks } = await statfs(path)
      const ratio = blocks === 0 ? 1 : bavail / blocks
      metrics.diskFree(ratio)
      const detail = `${numberText(Math.round(ratio * 1_000) / 10)} % of the file system of ${path} is free`
      return [LOW, FULL].map(({ rule, free, clear, kind }) => {
        const message = `${INCIDENT_TITLES[kind]}: ${detail}`
        const level = levelOf(ratio, '<', free, clear)
        return lookOf(
          ruleByName(rule),
          new Map([['disk', { level, value: ratio, threshold: free, message }]]),
        )
      })
    },
  }
}

/** Certificates that end: the node's own, the one that the listener presents, those of plugins. */
function certificateWatch(context: Context, ruleByName: RuleByName): Watch {
  return {
    about: 'certificates',
    looks: async () => {
      const ends = (await context.maybe(certificateEndsRef)?.ends()) ?? []
      const nowMs = context.clock.nowMs()
      const left = new Map([...ends].map(([name, endMs]) => [name, (endMs - nowMs) / 1_000]))
      for (const [name, seconds] of await certificatesOfPlugins(context)) left.set(name, seconds)
      return [EXPIRING, EXPIRED].map(({ rule, left: least }) =>
        lookOf(
          ruleByName(rule),
          new Map([...left].map(([name, seconds]) => [name, endingOf(name, seconds, least)])),
        ),
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

async function certificatesOfPlugins(context: Context): Promise<ReadonlyMap<string, number>> {
  const names = new Map(running(context).flatMap(({ certificates = {} }) => Object.entries(certificates)))
  const readings = await context.use(metricsReaderRef).read([...names.keys()])
  return new Map(
    [...names].flatMap(([metric, name]) =>
      (readings.get(metric)?.samples ?? []).map(({ labels, value }): [string, number] => [
        `${name} (${seriesName(labels)})`,
        value,
      ]),
    ),
  )
}

/** Clocks: this machine's, when it is not believed, and those of agents. */
function clockWatch(context: Context, rule: RuleByName): Watch {
  return {
    about: 'clocks',
    looks: async () => {
      const { machineMs, serviceMs, doubt } = context.use(clockJudgeRef).view()
      const seconds = Math.round((machineMs - serviceMs) / 1_000)
      const message = `${INCIDENT_TITLES.clock_wrong}: the clock of this machine is not believed: ${doubt ?? ''}`
      const own = findingOf(doubt === undefined ? 'good' : 'bad', message, seconds)
      const agents = (await context.maybe(agentWatchRef)?.agents()) ?? []
      const others = agents.filter(({ isStale }) => !isStale).map(agentClock)
      return [lookOf(rule('clock_skew'), new Map([['clock', own], ...others]))]
    },
  }
}

function agentClock(agent: AgentView): readonly [string, Finding] {
  const { nodeId, skewMs } = agent
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  const way = skewMs > 0 ? 'ahead' : 'behind'
  const message = `the clock of ${nameOf(agent)} is ${seconds} s ${way}`
  const level = levelOf(Math.abs(skewMs) / 1_000, '>', MOST_SKEW_S, MOST_SKEW_S / 2)
  return [`node/${nodeId}`, { level, value: Math.round(skewMs / 1_000), threshold: MOST_SKEW_S, message }]
}

function nameOf({ nodeId, name }: AgentView): string {
  return name === '' ? nodeId : name
}

/** Incidents with rules of their own, which say how full or how wrong it is. */
const RULED = new Set<IncidentKind>(['disk_full', 'disk_low', 'clock_wrong', 'certificate_ending'])

/** Components of this service and of agents that are down, and agents that do not show. What follows from an incident is told with it. */
function componentWatch(context: Context, rule: RuleByName): Watch {
  const outagesOf = outagesElsewhere()
  return {
    about: 'components',
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
          rule('component_down'),
          new Map([
            ...[...own, ...reported].map((one) =>
              downOf(one, toldElsewhere.has(one.name), words.get(one.name)),
            ),
            ...outagesOf(fresh),
          ]),
        ),
        lookOf(
          rule('heartbeat_stale'),
          new Map(
            agents.map((agent) => {
              const seconds = Math.round(agent.silentMs / 1_000)
              const message = `${INCIDENT_TITLES.box_silent}: no heartbeat of ${nameOf(agent)} for ${seconds} s`
              return [`node/${agent.nodeId}`, findingOf(agent.isStale ? 'bad' : 'good', message, seconds)]
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
    const now = fresh.flatMap((agent) =>
      (agent.incidents ?? [])
        .filter(isCritical)
        .map(
          ({ kind, title }) =>
            [`node/${agent.nodeId}/${kind}`, findingOf('bad', `${nameOf(agent)}: ${title}`)] as const,
        ),
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
function incidentLook(rule: Rule, of: IncidentKind, incidents: readonly Incident[]): Look {
  const found = incidents.filter(({ kind, severity }) => kind === of && severity === 'warning')
  const findings = found.map(
    (incident) =>
      [
        incident.cause.name,
        findingOf('bad', `${incidentWords(incident)}: ${incident.cause.detail}`),
      ] as const,
  )
  return lookOf(rule, new Map(findings), 'good')
}

function findingOf(level: Level, message: string, value?: number): Finding {
  return { level, value, threshold: undefined, message }
}

type RuleByName = (name: string) => Rule

function running(context: Context): ReturnType<ServiceInfo['plugins']> {
  return context.maybe(serviceInfoRef)?.plugins() ?? []
}

/**
 * The rules that count now: those of manifests (contract section 10) that are not disabled, and those of the configuration. What a
 * plugin that was here has brought stays: it may be on its way back.
 */
function rowsOf(context: Context<AlertsConfig>): () => readonly RuleRow[] {
  const { disabled_rules: disabled, rules } = context.config
  const brought = new Map<string, RuleRow>()
  return () => {
    for (const [name, row] of running(context).flatMap(({ alerts = {} }) => Object.entries(alerts)))
      if (!disabled.includes(name)) brought.set(name, { ...row, name })
    return [...brought.values(), ...rules]
  }
}

/** All rules, and what looks at them. */
export function alertRules(
  context: Context<AlertsConfig>,
  metrics: AlertMetrics,
): Pick<AlertParts, 'names' | 'watches'> {
  const rows = rowsOf(context)
  const names = (): ReadonlySet<string> => new Set(rows().map(({ name }) => name))
  // What is looked at for a rule that does not count is left out below.
  const rule: RuleByName = (name) =>
    ruleOf(rows().find((row) => row.name === name) ?? { name, severity: 'info' })
  const watches = [
    componentWatch(context, rule),
    diskWatch(context, metrics, rule),
    certificateWatch(context, rule),
    clockWatch(context, rule),
    loadWatch(context, rule),
    disarmWatch(context, rule),
    manifestWatch(context, rows),
    thresholdWatch(context, rows),
  ]
  const looksOf = async (watch: Watch): Promise<readonly Look[]> => {
    const all = names()
    return (await watch.looks()).filter(({ rule: { name } }) => all.has(name))
  }
  return { names, watches: watches.map((watch) => ({ ...watch, looks: () => looksOf(watch) })) }
}
