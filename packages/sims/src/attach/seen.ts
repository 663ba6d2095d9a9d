/** The SIM whose phone attached last, as far as this process has seen. */
export interface Seen {
  last(): string | undefined
  attached(hash: string): void
}

/** Nobody seen yet. */
export function nobodySeen(): Seen {
  let last: string | undefined
  return {
    last: () => last,
    attached: (hash) => {
      last = hash
    },
  }
}
