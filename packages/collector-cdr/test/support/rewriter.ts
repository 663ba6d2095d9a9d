import { workerData } from 'node:worker_threads'
import { modelChf } from './model-chf.ts'

/** Octets of the n-th report, no two alike. */
export function octetsOf(report: number): number {
  return 1_000 + report
}

/** What the test gives the thread. */
export interface RewriterData {
  readonly dir: string
  readonly imsi: string
  readonly reports: number
  /** A cell that is not 0 once something was counted: half of the reports wait for that. */
  readonly counted: Int32Array
}

// A CHF that reports as fast as it can, in a thread of its own.
if (workerData !== null) {
  const { dir, imsi, reports, counted } = workerData as RewriterData
  const chf = modelChf(dir, () => 1_700_000_000_000)
  const [one, two] = [chf.create(imsi), chf.create(imsi)]
  for (let report = 1; report <= reports; report += 1) {
    if (report === Math.ceil(reports / 2)) Atomics.wait(counted, 0, 0)
    const session = report % 3 === 0 ? two : one
    const isEnd = report % 7 === 0 && report < reports
    chf[isEnd ? 'release' : 'update'](session, {
      ratingGroup: 1,
      upBytes: octetsOf(report),
      downBytes: 0,
    })
  }
}
