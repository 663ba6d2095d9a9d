import { createDueQueue, type DueQueue } from './due-queue.ts'

/** Keys that wait, the urgent ones apart. A key is in one of both queues at most. */
export class KeyQueue {
  readonly urgent: DueQueue = createDueQueue()
  readonly other: DueQueue = createDueQueue()

  get size(): number {
    return this.urgent.size + this.other.size
  }

  has(key: string): boolean {
    return this.urgent.has(key) || this.other.has(key)
  }

  /** Adds a key or moves it, to the earlier of both times. What is urgent stays so. */
  add(key: string, dueAtMs: number, isUrgent: boolean): void {
    if (isUrgent) this.other.remove(key)
    const queue = isUrgent || this.urgent.has(key) ? this.urgent : this.other
    queue.add(key, dueAtMs)
  }

  /** When the next key is due; infinity when none is. */
  nextDueMs(): number {
    const never = Number.POSITIVE_INFINITY
    return Math.min(this.urgent.nextDueMs() ?? never, this.other.nextDueMs() ?? never)
  }
}
