import {
  type Context,
  healthBoardRef,
  type ImsiHash,
  type MetricReading,
  metricsReaderRef,
  quotaWatchRef,
  type StateEvent,
} from '@steeple/contracts'
import { FACTS } from '../store/fact-store.ts'
import { levelOf } from './compare.ts'
import { type Finding, type Look, lookOf, type Rule, type Watch } from './rule.ts'
import { numberText } from './thresholds.ts'

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
export function loadWatch(context: Context): Watch {
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
              `${sessions} sessions, more than policy.max_ues (${most})`,
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
  const refused = `${failed} SIMs could not be written to the HSS`
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
export function disarmWatch(context: Context): Watch {
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
export function quotaWatch(context: Context): Watch {
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
