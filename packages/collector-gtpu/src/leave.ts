import { type Collector, type Context, collectionConsumerRef } from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { UpfTap } from './upf-tap.ts'

/** What a hand-over may take; a copy that leaves is given five seconds. */
const HAND_OVER_BOUND_MS = 4_000
/** Readings that may have to be counted first: one that had ended, and the present one. */
const MOST_READINGS = 3

/**
 * Ends a tap for good: what it has counted is handed over once more, then everything of it goes. What could not be handed
 * over stays where it is and is counted when the tap is there again.
 */
export async function endTap(tap: UpfTap, collector: Collector, context: Context): Promise<void> {
  let isCounted = false
  try {
    isCounted = await handOver(collector, context)
  } catch (error) {
    context.log.warn(
      { reason: safeText(error) },
      'what the tap has counted could not be handed over; it stays',
    )
  }
  await tap.close(!isCounted)
}

async function handOver({ source, poll }: Collector, context: Context): Promise<boolean> {
  const consumer = context.maybe(collectionConsumerRef)
  // Nobody keeps usage: what was counted is for nobody.
  if (consumer === undefined) return true
  const bound = AbortSignal.timeout(HAND_OVER_BOUND_MS)
  for (let i = 0; i < MOST_READINGS; i += 1) {
    const collection = await poll(await consumer.position(source), bound)
    await consumer.take(new Map([[source, collection]]), bound)
    // After a final reading there is another.
    if (collection.position?.includes('"isFinal":true') !== true) return true
  }
  return false
}
