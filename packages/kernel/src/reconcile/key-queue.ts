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

  /** Takes the key that is due longest, of the urgent ones if there are any. */
  takeFirst(nowMs: number): { readonly key: string; readonly isUrgent: boolean } | undefined {
    const [urgent] = this.urgent.take(nowMs, 1)
    if (urgent !== undefined) return { key: urgent, isUrgent: true }
    const [other] = this.other.take(nowMs, 1)
    return other === undefined ? undefined : { key: other, isUrgent: false }
  }

  /** When the next key is due; infinity when none is. */
  nextDueMs(): number {
    const never = Number.POSITIVE_INFINITY
    return Math.min(this.urgent.nextDueMs() ?? never, this.other.nextDueMs() ?? never)
  }
}

/** Keys with the time at which each is due; a key is in it at most once. */
interface DueQueue {
  readonly size: number
  has(key: string): boolean
  /** Adds a key or moves it: to the earlier of both times. */
  add(key: string, dueAtMs: number): void
  remove(key: string): void
  /** Takes at most `limit` keys that are due, the longest due first. */
  take(nowMs: number, limit: number): readonly string[]
  /** When the next key is due. */
  nextDueMs(): number | undefined
}

interface Item {
  readonly key: string
  readonly dueAtMs: number
  readonly order: number
}

/** An empty queue: a binary heap whose outdated items are skipped when they come up. */
export function createDueQueue(): DueQueue {
  const times = new Map<string, Item>()
  let heap: Item[] = []
  let order = 0

  const isLive = (item: Item): boolean => times.get(item.key) === item
  const skipOutdated = (): void => {
    for (let top = heap[0]; top !== undefined && !isLive(top); top = heap[0]) pop(heap)
  }

  return {
    get size() {
      return times.size
    },
    has: (key) => times.has(key),
    add: (key, dueAtMs) => {
      const known = times.get(key)
      if (known !== undefined && known.dueAtMs <= dueAtMs) return
      const item = { key, dueAtMs, order: order++ }
      times.set(key, item)
      push(heap, item)
      // Moves leave outdated items behind: build anew before they outnumber the live ones by much.
      if (heap.length > 64 && heap.length > 4 * times.size) {
        heap = [...times.values()].sort((a, b) => (isBefore(a, b) ? -1 : 1))
      }
    },
    remove: (key) => {
      times.delete(key)
    },
    take: (nowMs, limit) => {
      const taken: string[] = []
      while (taken.length < limit) {
        skipOutdated()
        const top = heap[0]
        if (top === undefined || top.dueAtMs > nowMs) break
        pop(heap)
        times.delete(top.key)
        taken.push(top.key)
      }
      return taken
    },
    nextDueMs: () => {
      skipOutdated()
      return heap[0]?.dueAtMs
    },
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.dueAtMs === b.dueAtMs ? a.order < b.order : a.dueAtMs < b.dueAtMs
}

function push(heap: Item[], item: Item): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const parentAt = (at - 1) >> 1
    const parent = heap[parentAt]
    if (parent === undefined || !isBefore(item, parent)) break
    heap[at] = parent
    at = parentAt
  }
  heap[at] = item
}

function pop(heap: Item[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    const childAt = smallerChild(heap, at)
    const child = heap[childAt]
    if (child === undefined || !isBefore(child, last)) break
    heap[at] = child
    at = childAt
  }
  heap[at] = last
}

function smallerChild(heap: readonly Item[], at: number): number {
  const leftAt = 2 * at + 1
  const left = heap[leftAt]
  const right = heap[leftAt + 1]
  return left !== undefined && right !== undefined && isBefore(right, left) ? leftAt + 1 : leftAt
}
