import { inGroups } from '@steeple/telecom'

/** A capture that cannot be read: where, and what is wrong. What came before it is good. */
export class CaptureError extends Error {
  /** Offset in the capture. */
  readonly at: number

  constructor(at: number, what: string) {
    super(`the capture is damaged at octet ${inGroups(at)}: ${what}`)
    this.name = 'CaptureError'
    this.at = at
  }
}
