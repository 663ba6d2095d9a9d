import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export { processorMs as cpuMs } from '../harness/service.ts'

/** One line of the result: what was measured, beside what it is compared to in the same run. */
export interface Finding {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The ceiling or the reference of the same run. */
  readonly beside?: { readonly what: string; readonly value: number }
  /** The target as it is written in the issue or the specification, and whether it holds. */
  readonly target: string
  readonly isMet: boolean
}

/** What autocannon is asked to do. It runs in a process of its own, on the other core. */
export interface LoadRequest {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** What came of a load: answers per second, latencies in ms, answers that were not 2xx. */
export interface LoadResult {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly non2xx: number
  readonly errors: number
  readonly total: number
}

const LOADER = fileURLToPath(new URL('./load.ts', import.meta.url))

/** Sends a load from another process and waits for its result. */
export function load(request: LoadRequest): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const child = fork(LOADER, { execArgv: ['--no-warnings'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child.on('message', (result) => {
      // load.ts sends exactly one message of that shape.
      resolve(result as LoadResult)
    })
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`the load generator ended with ${code}`))
    })
    child.send(request)
  })
}

/** The middle of the values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** The value below which that share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
