import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** The heap of the process, as far as it is kept small. */
export interface Heap {
  /** What it holds of the system's memory, in use or not. */
  heldBytes(): number
  /** Share of the time since it was asked last in which the event loop was busy. */
  busyShare(): number
  /** Whether V8 is to collect what it can, soon and step by step. */
  hurry(isOn: boolean): void
}

const LOOK_MS = 10_000
/** Looks for which V8 is hurried: its own timer comes every 8 s. */
const HURRIED_LOOKS = 2
/** A service that does less is at rest. */
const REST_SHARE = 0.2
/** What is held beyond what was left at the last time is worth two collections of all. */
const SPARE_BYTES = 16 * 1_048_576

/**
 * Has the old generation grow by a third from now on before it is collected, and not to a multiple, which under floods of long lists
 * is 190 MiB in the place of 290. A start is over by now: most of what it makes stays, and to collect it that often took a
 * fifth of its processor time.
 *
 * Has V8 give back what a heap that has grown does not need, once the service is at rest, so that a large import takes no memory for
 * ever. V8's memory reducer does it in steps, but only of a process that it finds idle, and it measures that by how long
 * its collections took by the clock: beside other work on the machine it waits for ever. Flagged to favour size, it does not.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=30')
  setInterval(heapLooks(v8Heap()), LOOK_MS).unref()
}

/** What is done every 10 s. */
export function heapLooks(heap: Heap): () => void {
  let leftBytes = 0
  let looks = 0
  return () => {
    const isAtRest = heap.busyShare() < REST_SHARE
    if (looks > 0) {
      // Whoever asks for something now does not pay for it.
      looks = isAtRest ? looks - 1 : 0
      if (looks > 0) return
      heap.hurry(false)
      if (isAtRest) leftBytes = heap.heldBytes()
    } else if (isAtRest && heap.heldBytes() > leftBytes + SPARE_BYTES) {
      looks = HURRIED_LOOKS
      heap.hurry(true)
    }
  }
}

function v8Heap(): Heap {
  let last = performance.eventLoopUtilization()
  return {
    heldBytes: () => getHeapStatistics().total_heap_size,
    busyShare: () => {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    hurry: (isOn) => setFlagsFromString(isOn ? '--optimize-for-size' : '--no-optimize-for-size'),
  }
}
