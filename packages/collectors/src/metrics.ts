import type { Collection, Context } from '@steeple/contracts'

/** What is counted of polls; the label `collector` is the plugin's id. */
export interface PollMetrics {
  polled(collector: string, result: 'ok' | 'failed', seconds: number): void
  /** What a collector gave was counted, or not: it is asked for it again then. */
  ended(collector: string, result: 'counted' | 'refused', collection: Collection): void
  took(result: 'ok' | 'failed', seconds: number): void
  lag(collector: string, seconds: number): void
  /** Its plugin has left. */
  gone(collector: string): void
}

const BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 5, 10, 30]

export function pollMetrics({ metrics }: Context): PollMetrics {
  const ofOne = ['collector']
  const polls = metrics.counter('svc_collectors_polls_total', 'Polls of collectors, by result.', [
    'collector',
    'result',
  ])
  const pollSeconds = metrics.histogram('svc_collectors_poll_seconds', 'Duration of polls.', BUCKETS, ofOne)
  const records = metrics.counter(
    'svc_collectors_records_total',
    'Records of collectors, by kind (sighting, volume) and result: counted, or refused and asked for again.',
    ['collector', 'kind', 'result'],
  )
  const incomplete = metrics.counter(
    'svc_collectors_incomplete_total',
    'Volumes with bytes that may be missing.',
    ofOne,
  )
  const lost = metrics.counter(
    'svc_collectors_lost_packets_total',
    'Packets that a source reports as missed.',
    ofOne,
  )
  const lag = metrics.gauge(
    'svc_collectors_lag_seconds',
    'Time since records of a collector were last counted. NaN after its plugin was unloaded.',
    ofOne,
  )
  const takes = metrics.histogram(
    'svc_collectors_take_seconds',
    'Time to count the records of one round of polls, by result.',
    BUCKETS,
    ['result'],
  )
  return {
    polled: (collector, result, took) => {
      polls.inc({ collector, result })
      pollSeconds.observe(took, { collector })
    },
    ended: (collector, result, { sightings, volumes, lost: missed }) => {
      records.inc({ collector, result, kind: 'sighting' }, sightings.length)
      records.inc({ collector, result, kind: 'volume' }, volumes.length)
      if (result === 'refused') return
      incomplete.inc({ collector }, volumes.filter(({ isIncomplete }) => isIncomplete).length)
      lost.inc({ collector }, missed?.packets ?? 0)
      lag.set(0, { collector })
    },
    took: (result, took) => takes.observe(took, { result }),
    lag: (collector, value) => lag.set(value, { collector }),
    gone: (collector) => lag.set(Number.NaN, { collector }),
  }
}
