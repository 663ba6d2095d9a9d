/**
 * A mobile network: country code of 3 digits, network code of 2 or 3. `01` and `001` are different networks.
 *
 * Source: TS 23.003 §2.2 and §12.1.
 */
export interface Plmn {
  readonly mcc: string
  readonly mnc: string
}

const MCC = /^[0-9]{3}$/
const MNC = /^[0-9]{2,3}$/
const PLMN = /^([0-9]{3})-([0-9]{2,3})$/

/** Whether a text is a mobile country code: 3 digits. */
export function isMcc(text: string): boolean {
  return MCC.test(text)
}

/** Whether a text is a mobile network code: 2 or 3 digits. */
export function isMnc(text: string): boolean {
  return MNC.test(text)
}

/** The network in a text of the form `999-99` or `310-410`; otherwise `undefined`. */
export function parsePlmn(text: string): Plmn | undefined {
  const [, mcc, mnc] = PLMN.exec(text) ?? []
  return mcc === undefined || mnc === undefined ? undefined : { mcc, mnc }
}

/** The network as text, `999-99`. */
export function formatPlmn(plmn: Plmn): string {
  return `${plmn.mcc}-${plmn.mnc}`
}
