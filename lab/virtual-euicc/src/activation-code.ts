/** What an activation code says. SGP.22 §4.1. */
export interface ActivationCode {
  readonly smdpAddress: string
  readonly matchingId: string
  /** Dotted object identifier that the SM-DP+ must have. */
  readonly smdpOid: string | undefined
  readonly isConfirmationRequired: boolean
}

/** An activation code that is none. The message does not repeat it. */
export class ActivationCodeError extends Error {}

const CODE_LENGTH_MAX = 255

/** Reads `LPA:1$…` or `1$…`. Throws `ActivationCodeError`. SGP.22 §4.1, §4.1.3. */
export function readActivationCode(text: string): ActivationCode {
  const code = text.trim().replace(/^LPA:/i, '')
  if (code.length > CODE_LENGTH_MAX) throw new ActivationCodeError('the activation code is longer than 255')
  const [format, smdpAddress, matchingId, smdpOid, confirmation, ...rest] = code.split('$')
  if (format !== '1' || rest.length > 0)
    throw new ActivationCodeError('an activation code reads LPA:1$<server>$<matching id>')
  if (smdpAddress === undefined || smdpAddress === '' || matchingId === undefined)
    throw new ActivationCodeError('the activation code has no server or no matching id')
  // As unmodified LPAs do: lpac refuses other characters. SGP.22 §4.1.1.
  if (!/^[A-Za-z0-9-]*$/.test(matchingId))
    throw new ActivationCodeError('the matching id has characters that are not allowed')
  return {
    smdpAddress,
    matchingId,
    smdpOid: smdpOid === undefined || smdpOid === '' ? undefined : smdpOid,
    isConfirmationRequired: confirmation === '1',
  }
}
