import type { Context } from '@steeple/contracts'
import type { Kicked } from './steer/kick.ts'

/** What is counted of the core's steering. */
export interface SteerMetrics {
  kicked(result: Kicked | 'failed'): void
  token(result: 'ok' | 'failed'): void
  /** Whether a function answers. */
  daemon(name: string, isUp: boolean): void
  /** Registered phones; undefined when the AMF does not tell. */
  registered(count: number | undefined): void
  timed<T>(operation: 'kick' | 'list', work: () => Promise<T>): Promise<T>
}

/** Registers the metrics. */
export function steerMetrics({ metrics, clock }: Context): SteerMetrics {
  const kicks = metrics.counter('svc_driver_core_b_kicks_total', 'Subscribers cut off, by result.', [
    'result',
  ])
  const tokens = metrics.counter(
    'svc_driver_core_b_tokens_total',
    'Access tokens asked for at the NRF, by result.',
    ['result'],
  )
  const ues = metrics.gauge(
    'svc_driver_core_b_registered_ues',
    'Phones registered at the AMF when it was last asked; NaN while it does not tell.',
  )
  ues.set(Number.NaN)
  const up = metrics.gauge('svc_driver_core_b_daemon_up', 'Whether a function of the core answers.', [
    'daemon',
  ])
  const seconds = metrics.histogram(
    'svc_driver_core_b_call_seconds',
    'Duration of what is asked of the core.',
    [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
    ['operation'],
  )
  return {
    kicked: (result) => kicks.inc({ result }),
    token: (result) => tokens.inc({ result }),
    daemon: (daemon, isUp) => up.set(isUp ? 1 : 0, { daemon }),
    registered: (count) => ues.set(count ?? Number.NaN),
    timed: async (operation, work) => {
      const from = clock.monotonicMs()
      try {
        return await work()
      } finally {
        seconds.observe((clock.monotonicMs() - from) / 1000, { operation })
      }
    },
  }
}
