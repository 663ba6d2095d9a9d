import type { Metrics } from '@steeple/contracts'
import type { ExitClass } from './process/exit-class.ts'
import { type RadioFacts, ueCountOf } from './stream/radio-facts.ts'
import { RADIO_STATES, type RadioSnapshot } from './supervisor/radio-state.ts'

export interface RadioMetrics {
  started(): void
  exited(kind: ExitClass): void
  stopped(seconds: number): void
  /** Sets what is read off a running radio. */
  show(snapshot: RadioSnapshot): void
}

/** Declares the metrics of the driver. */
export function radioMetrics(metrics: Metrics): RadioMetrics {
  const state = metrics.gauge(
    'svc_driver_ran_state',
    'State of the radio: 1 for the present state, 0 for all others.',
    ['state'],
  )
  const connected = metrics.gauge('svc_driver_ran_connected', '1: S1 or NG is up. 0: it is not.')
  const phones = metrics.gauge('svc_driver_ran_ues', 'Phones that the radio serves.')
  const starts = metrics.counter('svc_driver_ran_starts_total', 'Radio processes started.')
  const exits = metrics.counter('svc_driver_ran_exits_total', 'Radio processes ended, by reason.', ['class'])
  const errors = metrics.counter(
    'svc_driver_ran_rf_errors_total',
    'Late, lost and missing samples that the radio reported.',
  )
  const accesses = metrics.counter('svc_driver_ran_random_accesses_total', 'Random accesses of phones.')
  const stops = metrics.histogram(
    'svc_driver_ran_stop_seconds',
    'Time until a stop was confirmed.',
    [0.01, 0.1, 0.5, 0.8, 1, 2, 4, 7],
  )
  let last: Pick<RadioFacts, 'rfErrors' | 'randomAccesses'> = { rfErrors: 0, randomAccesses: 0 }
  return {
    started: () => {
      last = { rfErrors: 0, randomAccesses: 0 }
      starts.inc()
    },
    exited: (kind) => exits.inc({ class: kind }),
    stopped: (seconds) => stops.observe(seconds),
    show: (snapshot) => {
      for (const each of RADIO_STATES) state.set(each === snapshot.state ? 1 : 0, { state: each })
      const { facts } = snapshot
      connected.set(facts?.isConnected === true ? 1 : 0)
      phones.set(facts === undefined ? 0 : ueCountOf(facts))
      if (facts === undefined) return
      errors.inc({}, Math.max(0, facts.rfErrors - last.rfErrors))
      accesses.inc({}, Math.max(0, facts.randomAccesses - last.randomAccesses))
      last = facts
    },
  }
}
