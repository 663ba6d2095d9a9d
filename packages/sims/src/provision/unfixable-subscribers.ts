/** What pushes of one SIM have come to. */
export interface UnfixableSubscribers {
  /**
   * The HSS holds that SIM otherwise although it was pushed. True when that was so three times in a row for the same
   * reason without a change of the SIM: another push would not help.
   */
  differs(hash: string, generation: number, reason: string): boolean
  /** The HSS holds it as it should. */
  fits(hash: string): void
  /** Another HSS, or one that is back, is worth new tries. */
  forget(): void
  /** Why a SIM is not pushed any more; undefined while it is. */
  reasonOf(hash: string, generation: number): string | undefined
  /** How many are left alone, and the reason of one of them. */
  view(): { readonly sims: number; readonly reason: string | undefined }
}

/** Pushes without an effect after which a SIM is left alone. */
const PUSHES_MAX = 3

/** Nothing pushed yet. */
export function futilePushes(): UnfixableSubscribers {
  const seen = new Map<
    string,
    { readonly generation: number; readonly reason: string; readonly times: number }
  >()
  return {
    differs: (hash, generation, reason) => {
      const last = seen.get(hash)
      const isSame = last !== undefined && last.generation === generation && last.reason === reason
      const times = isSame ? last.times + 1 : 1
      seen.set(hash, { generation, reason, times })
      // The first difference was somebody's doing; each further one outlived a push.
      return times > PUSHES_MAX
    },
    fits: (hash) => {
      seen.delete(hash)
    },
    forget: () => seen.clear(),
    reasonOf: (hash, generation) => {
      const last = seen.get(hash)
      if (last === undefined || last.generation !== generation || last.times <= PUSHES_MAX) return undefined
      return `pushed ${PUSHES_MAX} times, and the HSS does not keep it: ${last.reason}`
    },
    view: () => {
      const left = [...seen.values()].filter(({ times }) => times > PUSHES_MAX)
      return { sims: left.length, reason: left[0]?.reason }
    },
  }
}
