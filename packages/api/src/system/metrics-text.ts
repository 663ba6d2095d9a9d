import type { EdgeKernel } from '../edge-kernel.ts'

/** What the text is made of. */
interface MetricsSources {
  readonly kernel: Pick<EdgeKernel, 'clock' | 'metricsText' | 'metricsRevision'>
  readonly metrics: { text(): string }
}

/** Metrics are made anew when this many times the time of making them has passed: at most a twentieth of the processor. */
const REST = 20

/** One making of the text: of what was published when it began. */
interface Making {
  readonly revision: number
  readonly text: Promise<Uint8Array>
  /** When it counts no more; undefined while it is made. */
  untilMs: number | undefined
}

/**
 * The text of all metrics: the kernel's, plugins' and the edge's own.
 *
 * Who scrapes without a pause gets the text of some ms ago; who asks while it is made gets the same one. Once a copy of a plugin
 * has come or gone, nobody gets a text that was begun before.
 */
export function createMetricsText({ kernel, metrics }: MetricsSources): () => Promise<Uint8Array> {
  let last: Making | undefined
  const make = async (): Promise<Uint8Array> => Buffer.from(`${await kernel.metricsText()}${metrics.text()}`)
  const begin = (): Making => {
    const begunMs = kernel.clock.monotonicMs()
    const making: Making = { revision: kernel.metricsRevision(), text: make(), untilMs: undefined }
    const forget = (): void => {
      if (last === making) last = undefined
    }
    making.text.then(() => {
      const nowMs = kernel.clock.monotonicMs()
      making.untilMs = nowMs + REST * (nowMs - begunMs)
    }, forget)
    return making
  }
  const counts = ({ revision, untilMs }: Making): boolean =>
    revision === kernel.metricsRevision() && (untilMs === undefined || kernel.clock.monotonicMs() < untilMs)
  return async () => {
    if (last === undefined || !counts(last)) last = begin()
    return await last.text
  }
}
