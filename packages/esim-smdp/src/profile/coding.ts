/** Digits of an ICCID with its check digit. ITU-T E.118 §4. */
const ICCID = /^\d{18,20}$/

/**
 * An ICCID in ten octets in the order of its digits, filled with `F`, as a profile header has it; 18 digits get their
 * check digit. ITU-T E.118, TCA profile package §8.2.
 */
export function iccidOctets(iccid: string): Uint8Array {
  if (!ICCID.test(iccid)) throw new RangeError('an ICCID has 18 to 20 digits')
  const whole = iccid.length === 18 ? iccid + luhn(iccid) : iccid
  return new Uint8Array(Buffer.from(whole.padEnd(20, 'f'), 'hex'))
}

/** The check digit behind `digits`. ISO/IEC 7812-1 annex B. */
export function luhn(digits: string): string {
  let sum = 0
  for (const [i, digit] of [...digits].reverse().entries()) {
    const twice = i % 2 === 0 ? 2 * Number(digit) : Number(digit)
    sum += twice > 9 ? twice - 9 : twice
  }
  return String((10 - (sum % 10)) % 10)
}

/** The same octets with the two halves of each changed over, as EF.ICCID has them. TS 102 221 §13.2. */
export function swapped(octets: Uint8Array): Uint8Array {
  return octets.map((octet) => ((octet & 0xf) << 4) | (octet >> 4))
}
