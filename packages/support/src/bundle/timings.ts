import { performance } from 'node:perf_hooks'
import type { Context } from '@steeple/contracts'

const ROUNDS = 5
/** Families of the metrics that say how long something takes. */
const FAMILIES =
  /^(nodejs_eventloop_|svc_reconcile_|svc_http_request_duration_seconds_(sum|count)|process_cpu|process_res)/

/** How long the store takes for an empty write and a read, ms, each of some rounds. */
export async function storeTimings(context: Context): Promise<Readonly<Record<string, readonly number[]>>> {
  const write: number[] = []
  const read: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    write.push(await timed(() => context.db.write(async () => undefined)))
    read.push(await timed(() => context.db.get('select 1 as one')))
  }
  return { write_ms: write, read_ms: read }
}

/** Lines of the metrics that are timings. */
export function timingsOf(metrics: string): readonly string[] {
  return metrics.split('\n').filter((line) => FAMILIES.test(line))
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunMs = performance.now()
  await work()
  return Math.round((performance.now() - begunMs) * 100) / 100
}
