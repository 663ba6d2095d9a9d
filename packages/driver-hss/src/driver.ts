import type { HssDriver } from '@steeple/contracts'

/** What a look at the other side found. */
export interface Probe {
  readonly isOk: boolean
  /** Where it leads to and what is wrong. No credentials, no subscriber. */
  readonly detail: string
  /** How often the other side was found to hold something else than it was left with; 0 while that is not known. */
  readonly changes?: number
}

/** An HSS driver with what the plugin around it needs. */
export interface WriteBackDriver extends HssDriver {
  /** Whether the other side answers, and still is what it was. Changes no subscriber; throws when it does not answer. */
  probe(signal: AbortSignal): Promise<Probe>
  /** Removes what the core left of removed subscribers. */
  sweep(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}
