import type { SubscriberFound } from '@steeple/contracts'

/** What every core holds of a subscriber, in its own words. */
export type FoundParts = Pick<SubscriberFound, 'slices' | 'ambrBps' | 'msisdn' | 'amf'>

/** The text of one whose core has documents that none of ours can hold. */
export function partsText({ slices, ambrBps, msisdn, amf }: FoundParts): string {
  return JSON.stringify({ parts: { slices, ambrBps, msisdn, amf } })
}
