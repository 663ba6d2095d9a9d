import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace'

/** Told what becomes of spans. */
export interface SpanCounts {
  count(result: 'exported' | 'failed' | 'dropped', by: number): void
  /** How many wait now. */
  waits(count: number): void
}

/** Spans that wait at most; those of more are dropped. About 2 KiB each. */
const MOST_WAITING = 2_048
const MOST_IN_BATCH = 512
const EVERY_MS = 1_000
/** How long the end of the service waits for a collector, twice. */
const LAST_MS = 1_000

/**
 * Sends spans in batches, one at a time. A collector that is down, hangs or refuses costs the spans of its batch and nothing
 * else: nobody waits for it, and what waits for it is bounded.
 *
 * In the place of the SDK's own `BatchSpanProcessor`, which does not say what it drops.
 */
export function createBatches(exporter: SpanExporter, { count, waits }: SpanCounts): SpanProcessor {
  let waiting: ReadableSpan[] = []
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const send = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST_IN_BATCH)
      waiting = waiting.slice(MOST_IN_BATCH)
      waits(waiting.length)
      count(await taken(exporter, batch), batch.length)
    }
  }
  const begin = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    sending ??= send().finally(() => {
      sending = undefined
    })
    return sending
  }
  const flush = (): Promise<void> => atMost(begin())
  return {
    onStart: () => undefined,
    onEnd: (span) => {
      // W3C Trace Context §3.2.2.5: the caller of a trace says whether it is kept.
      if ((span.spanContext().traceFlags & 1) === 0) return
      if (isClosed || waiting.length >= MOST_WAITING) {
        count('dropped', 1)
        return
      }
      waiting.push(span)
      waits(waiting.length)
      if (waiting.length >= MOST_IN_BATCH) void begin()
      else timer ??= setTimeout(() => void begin(), EVERY_MS).unref()
    },
    forceFlush: flush,
    shutdown: async () => {
      isClosed = true
      await flush()
      if (waiting.length > 0) count('dropped', waiting.length)
      waiting = []
      clearTimeout(timer)
      // It waits for an answer that is still to come.
      await atMost(exporter.shutdown().catch(() => undefined))
    },
  }
}

async function atMost(work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const bound = setTimeout(late.resolve, LAST_MS)
  await Promise.race([work, late.promise])
  clearTimeout(bound)
}

/** Exporters answer by a callback, with 0 for success. Never rejects. */
async function taken(exporter: SpanExporter, batch: ReadableSpan[]): Promise<'exported' | 'failed'> {
  try {
    const { promise, resolve } = Promise.withResolvers<number>()
    exporter.export(batch, ({ code }) => resolve(code))
    return (await promise) === 0 ? 'exported' : 'failed'
  } catch {
    return 'failed'
  }
}
