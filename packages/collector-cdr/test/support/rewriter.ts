import { workerData } from 'node:worker_threads'
import { modelChf } from './model-chf.ts'

/** Octets of the n-th report, no two alike. */
export function octetsOf(report: number): number {
  return 1_000 + report
}

// A CHF that reports as fast as it can, in a thread of its own.
if (workerData !== null) {
  const { dir, imsi, reports } = workerData as { dir: string; imsi: string; reports: number } // of the test
  const chf = modelChf(dir, () => 1_700_000_000_000)
  const [one, two] = [chf.create(imsi), chf.create(imsi)]
  for (let report = 1; report <= reports; report += 1) {
    const session = report % 3 === 0 ? two : one
    const isEnd = report % 7 === 0 && report < reports
    chf[isEnd ? 'release' : 'update'](session, {
      ratingGroup: 1,
      upBytes: octetsOf(report),
      downBytes: 0,
    })
  }
}
