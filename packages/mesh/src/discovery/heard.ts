import type { Suggestion } from '../suggestions.ts'

/** So many nodes are kept, and so many from one address. */
export const HEARD_LIMIT = 64
export const PER_ADDRESS = 4

/** Nodes that were heard of, in memory. */
export interface Heard {
  /** Says whether the list is another now. One that finds no place is dropped. */
  add(suggestion: Suggestion): boolean
  /** Forgets those that have not been heard since. Says whether there were any. */
  forget(beforeMs: number): boolean
  list(): readonly Suggestion[]
  get(id: string): Suggestion | undefined
}

/**
 * An empty list. A stranger who announces thousands fills it at most: the first that were heard stay while they are heard,
 * so nobody is crowded out by those that come later.
 */
export function heardNodes(): Heard {
  const byId = new Map<string, Suggestion>()
  return {
    add: (suggestion) => {
      if (byId.has(suggestion.id)) {
        byId.set(suggestion.id, suggestion)
        return false
      }
      // What a node said of itself before, such as the certificate of a mesh that it has left.
      const { nodeId, address: there, port } = suggestion
      const before = [...byId.values()].filter(
        (one) => one.nodeId === nodeId && one.address === there && one.port === port,
      )
      for (const { id } of before) byId.delete(id)
      const fromThere = [...byId.values()].filter(({ address }) => address === suggestion.address).length
      if (byId.size >= HEARD_LIMIT || fromThere >= PER_ADDRESS) return false
      byId.set(suggestion.id, suggestion)
      return true
    },
    forget: (beforeMs) => {
      const gone = [...byId.values()].filter(({ heardAtMs }) => heardAtMs < beforeMs)
      for (const { id } of gone) byId.delete(id)
      return gone.length > 0
    },
    list: () => [...byId.values()],
    get: (id) => byId.get(id),
  }
}
