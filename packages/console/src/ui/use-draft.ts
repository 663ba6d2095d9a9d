import { useEffect, useState } from 'preact/hooks'

/** What is typed over something that others may change meanwhile. */
export interface Draft<Value> {
  /** What is typed; what is there while nothing is. */
  readonly value: Value
  readonly set: (value: Value) => void
  readonly isTouched: boolean
  /** Something else is there than when typing began, and than what is typed: whoever saves has to choose first. */
  readonly isStale: boolean
  /** What is there now. */
  readonly theirs: Value
  /** Keeps what is typed, on top of what is there now. */
  readonly keep: () => void
  /** Gives up what is typed. */
  readonly drop: () => void
}

interface Typed<Value> {
  readonly value: Value
  readonly before: Value
}

/**
 * Keeps what is typed whatever becomes of `now`, which is JSON. While it is not stale, the tag that came with `now` guards the change: what
 * has been changed beside it is nothing that typing has overlooked.
 */
export function useDraft<Value>(now: Value): Draft<Value> {
  const [typed, setTyped] = useState<Typed<Value>>()
  // Saved, or somebody else has set the same.
  const reached = typed !== undefined && isSame(typed.value, now) ? typed : undefined
  useEffect(() => {
    // Not what was typed since then.
    if (reached !== undefined) setTyped((latest) => (latest === reached ? undefined : latest))
  }, [reached])
  const open = reached === undefined ? typed : undefined
  return {
    value: open === undefined ? now : open.value,
    set: (value) => setTyped({ value, before: open === undefined ? now : open.before }),
    isTouched: open !== undefined,
    isStale: open !== undefined && !isSame(open.before, now),
    theirs: now,
    keep: () => open !== undefined && setTyped({ value: open.value, before: now }),
    drop: () => setTyped(undefined),
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
