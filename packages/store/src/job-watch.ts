import { storeUnavailable } from '@steeple/contracts'

/** A job that awaits something outside the store holds all other writers; after this it is undone. */
const JOB_LIMIT_MS = 5_000

/** Bounds one job after the other, all with one timer: a timer for each would cost more than many a job. */
export interface JobWatch {
  /** The job's own outcome, or `store_unavailable` when it takes longer than `limitMs` (5 s when absent). */
  bound<T>(job: Promise<T>, limitMs: number | undefined): Promise<T>
  close(): void
}

/** Makes the watch of one writer. One job at a time. */
export function jobWatch(): JobWatch {
  let expire = (_error: unknown): void => undefined
  const timer = setTimeout(() => expire(tooLong(JOB_LIMIT_MS)), JOB_LIMIT_MS)
  timer.unref()
  return {
    bound: (job, limitMs) => {
      if (limitMs !== undefined) return boundAlone(job, limitMs)
      return new Promise((resolve, reject) => {
        expire = reject
        timer.refresh()
        job.then(resolve, reject)
      })
    },
    close: () => clearTimeout(timer),
  }
}

function boundAlone<T>(job: Promise<T>, limitMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(tooLong(limitMs)), limitMs)
    job.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function tooLong(limitMs: number): Error {
  return storeUnavailable(`a transaction was not over after ${limitMs} ms and was undone; try again`)
}
