import type { Context } from '@steeple/contracts'

export interface CdrMetrics {
  read(result: 'ok' | 'torn' | 'refused'): void
  records(count: number): void
  /** Files of a CHF, and others that end as those do. */
  files(read: number, ignored: number): void
}

export function cdrMetrics({ metrics }: Pick<Context, 'metrics'>): CdrMetrics {
  const reads = metrics.counter(
    'svc_collector_cdr_reads_total',
    'Reads of files of charging records, by result.',
    ['result'],
  )
  const records = metrics.counter(
    'svc_collector_cdr_records_total',
    'Charging records in the files that were read.',
  )
  const files = metrics.gauge(
    'svc_collector_cdr_files',
    'Files of charging records in the folder at the last poll, by state.',
    ['state'],
  )
  return {
    read: (result) => reads.inc({ result }),
    records: (count) => {
      if (count > 0) records.inc({}, count)
    },
    files: (read, ignored) => {
      files.set(read, { state: 'read' })
      files.set(ignored, { state: 'ignored' })
    },
  }
}
