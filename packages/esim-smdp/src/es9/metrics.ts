import type { Metrics } from '@steeple/contracts'
import type { RefusalName } from '../rsp/refusal.ts'
import type { SessionStep } from '../store/rows.ts'

/** The functions of ES9+. SGP.22 §5.6. */
export const ES9_FUNCTIONS = [
  'initiateAuthentication',
  'authenticateClient',
  'getBoundProfilePackage',
  'handleNotification',
  'cancelSession',
] as const
export type Es9Function = (typeof ES9_FUNCTIONS)[number]

/** What became of a notification. */
export type NoticeResult = 'counted' | 'repeated' | 'unreadable' | 'not_verified' | 'unknown_profile'
/** How a download ended, as far as it came. */
export type DownloadOutcome = 'delivered' | 'installed' | 'failed' | 'cancelled'

/** Bounds of the histogram of a session's time, seconds. */
const SECONDS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900]
/** Of those that are only begun nothing is kept. */
const STEPS: readonly SessionStep[] = ['authenticated', 'delivered', 'ended']

/** The series of ES9+. */
export interface Es9Metrics {
  called(name: Es9Function): void
  refused(reason: RefusalName): void
  downloaded(outcome: DownloadOutcome): void
  noticed(result: NoticeResult): void
  /** Seconds from the first call to the delivery. */
  took(seconds: number): void
  sessions(counts: ReadonlyMap<string, number>): void
}

export function es9Metrics(metrics: Metrics): Es9Metrics {
  const calls = metrics.counter('svc_esim_smdp_calls_total', 'Calls of ES9+ functions.', ['function'])
  const refusals = metrics.counter(
    'svc_esim_smdp_refusals_total',
    'Calls that were refused. `matching_id`: the activation code does not exist.',
    ['reason'],
  )
  const downloads = metrics.counter('svc_esim_smdp_downloads_total', 'Downloads, by outcome.', ['outcome'])
  const notices = metrics.counter(
    'svc_esim_smdp_notifications_total',
    'Notifications of eUICCs, by result.',
    ['result'],
  )
  const seconds = metrics.histogram(
    'svc_esim_smdp_download_seconds',
    'Time from the first call of a session to the delivery of the profile.',
    SECONDS,
  )
  const open = metrics.gauge('svc_esim_smdp_sessions', 'Open download sessions, by step.', ['step'])
  return {
    called: (name) => calls.inc({ function: name }),
    refused: (reason) => refusals.inc({ reason }),
    downloaded: (outcome) => downloads.inc({ outcome }),
    noticed: (result) => notices.inc({ result }),
    took: (value) => seconds.observe(value),
    sessions: (counts) => {
      for (const step of STEPS) open.set(counts.get(step) ?? 0, { step })
    },
  }
}
