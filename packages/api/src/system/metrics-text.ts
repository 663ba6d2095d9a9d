import type { EdgeCore } from '../edge-core.ts'

/** Metrics are made anew when this many times the time of making them has passed: at most a twentieth of the processor. */
const REST = 20

/**
 * The text of all metrics: the kernel's, plugins' and the edge's own.
 *
 * Who scrapes without a pause gets the text of some ms ago; who asks while it is made gets the same one.
 */
export function createMetricsText({ kernel, metrics }: EdgeCore): () => Promise<Uint8Array> {
  let made: { readonly text: Uint8Array; readonly untilMs: number } | undefined
  let making: Promise<Uint8Array> | undefined
  const make = async (): Promise<Uint8Array> => {
    const begunMs = kernel.clock.monotonicMs()
    const text = Buffer.from(`${await kernel.metricsText()}${metrics.text()}`)
    const nowMs = kernel.clock.monotonicMs()
    made = { text, untilMs: nowMs + REST * (nowMs - begunMs) }
    return text
  }
  return async () => {
    if (made !== undefined && kernel.clock.monotonicMs() < made.untilMs) return made.text
    making ??= make().finally(() => {
      making = undefined
    })
    return await making
  }
}
