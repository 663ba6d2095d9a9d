import type { Metrics } from '@steeple/contracts'
import type { Es2RefusalName } from './refusal.ts'

/** The functions that an order system calls. SGP.22 §5.3. */
export const ES2_FUNCTIONS = ['downloadOrder', 'confirmOrder', 'cancelOrder', 'releaseProfile'] as const
export type Es2FunctionName = (typeof ES2_FUNCTIONS)[number]
/** What became of a call that the order system was to be told by. */
export type ProgressOutcome = 'told' | 'failed' | 'given_up'

/** The series of ES2+. */
export interface Es2Metrics {
  called(name: Es2FunctionName, result: 'executed' | 'repeated' | Es2RefusalName): void
  progress(outcome: ProgressOutcome, by?: number): void
  waiting(entries: number): void
}

export function es2Metrics(metrics: Metrics): Es2Metrics {
  const calls = metrics.counter('svc_esim_smdp_es2_calls_total', 'Calls of ES2+, by function and result.', [
    'function',
    'result',
  ])
  const progress = metrics.counter(
    'svc_esim_smdp_progress_total',
    'Calls of handleDownloadProgressInfo, by outcome.',
    ['outcome'],
  )
  const waiting = metrics.gauge(
    'svc_esim_smdp_progress_waiting',
    'Reports of download steps that wait for the order system.',
  )
  return {
    called: (name, result) => calls.inc({ function: name, result }),
    progress: (outcome, by = 1) => progress.inc({ outcome }, by),
    waiting: (entries) => waiting.set(entries),
  }
}
