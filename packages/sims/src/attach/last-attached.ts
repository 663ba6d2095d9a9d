/** The SIM whose phone attached last, as far as this process has seen. */
export interface LastAttached {
  last(): string | undefined
  attached(hash: string): void
}

/** Nobody seen yet. */
export function nobodyAttached(): LastAttached {
  let last: string | undefined
  return {
    last: () => last,
    attached: (hash) => {
      last = hash
    },
  }
}
