/** What the installed release of free5GC understands. */
export interface ReleaseTraits {
  /** Before 3.4.3 AMF and SMF end with a file in which a slice has no differentiator. */
  readonly wantsDifferentiators: boolean
  /** The SMF of 3.4.1 and 3.4.2 takes the first CHF that it finds, and ends its handling of a session when there is none. */
  readonly wantsCharging: boolean
  /** From 4.2.3 on, callbacks are services of their own: unlisted, nobody gets a token for them. Older ones stop at them. */
  readonly listsCallbacks: boolean
  /** From 4.1.0 on there is a metrics server. */
  readonly hasMetrics: boolean
}

/** What a release such as `4.2.3` understands; undefined when the text names none of 3.4.0 or later. */
export function releaseTraits(text: string): ReleaseTraits | undefined {
  if (!/^[0-9]{1,2}([.][0-9]{1,2}){2}$/.test(text)) return undefined
  const number = text.split('.').reduce((sum, part) => sum * 100 + Number(part), 0)
  if (number < 30_400) return undefined
  return {
    wantsDifferentiators: number < 30_403,
    wantsCharging: number === 30_401 || number === 30_402,
    listsCallbacks: number >= 40_203,
    hasMetrics: number >= 40_100,
  }
}
