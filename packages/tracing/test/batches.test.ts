import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { assert, eventually, suite } from '@steeple/testkit'
import { createBatches } from '../src/otel/start.ts'

const test = suite('batches of spans')

type Answer = (code: number) => void
interface Tried {
  readonly batches: ReturnType<typeof createBatches>
  readonly counts: Record<'exported' | 'failed' | 'dropped', number>
  readonly asked: { readonly length: number; readonly answer: Answer }[]
}

/** A collector that answers when it is told to. */
function tried(answersAtOnce?: number): Tried {
  const counts = { exported: 0, failed: 0, dropped: 0 }
  const asked: Tried['asked'] = []
  const exporter: SpanExporter = {
    export: (spans, done) => {
      const answer: Answer = (code) => done({ code })
      asked.push({ length: spans.length, answer })
      if (answersAtOnce !== undefined) answer(answersAtOnce)
    },
    shutdown: async () => undefined,
  }
  const count = (result: keyof typeof counts, by: number): void => {
    counts[result] += by
  }
  return { batches: createBatches(exporter, { count, waits: () => undefined }), counts, asked }
}

/** As much of a span as a batch looks at. */
function span(traceFlags = 1): ReadableSpan {
  return { spanContext: () => ({ traceId: '', spanId: '', traceFlags }) } as unknown as ReadableSpan
}

test('are sent, at most 512 spans in one', async () => {
  const { batches, counts, asked } = tried(0)
  for (let i = 0; i < 1_300; i++) batches.onEnd(span())
  await batches.forceFlush()
  assert.equal(counts, { exported: 1_300, failed: 0, dropped: 0 })
  assert.ok(asked.every(({ length }) => length <= 512))
  await batches.shutdown()
})

test('that a collector refuses are counted and forgotten', async () => {
  const { batches, counts } = tried(1)
  for (let i = 0; i < 10; i++) batches.onEnd(span())
  await batches.forceFlush()
  assert.equal(counts, { exported: 0, failed: 10, dropped: 0 })
  await batches.shutdown()
})

test('of a collector that hangs fill no more than the queue', async () => {
  const { batches, counts, asked } = tried()
  for (let i = 0; i < 10_000; i++) batches.onEnd(span())
  await eventually(() => assert.is(asked.length, 1))
  const underWay = asked[0]?.length ?? 0
  assert.is(counts.dropped, 10_000 - 2_048 - underWay, JSON.stringify(counts))
  asked[0]?.answer(0)
  await eventually(() => assert.is(asked.length, 2))
  for (let at = 1; at < 5; at++) {
    await eventually(() => assert.ok(asked.length > at))
    asked[at]?.answer(0)
  }
  await eventually(() => assert.is(counts.exported, 10_000 - counts.dropped))
  await batches.shutdown()
})

test('leave out what the caller wants no trace of', async () => {
  const { batches, counts } = tried(0)
  batches.onEnd(span(0))
  await batches.shutdown()
  assert.equal(counts, { exported: 0, failed: 0, dropped: 0 })
})

test('that come after the end are dropped', async () => {
  const { batches, counts } = tried(0)
  await batches.shutdown()
  batches.onEnd(span())
  assert.equal(counts, { exported: 0, failed: 0, dropped: 1 })
})

test.run()
