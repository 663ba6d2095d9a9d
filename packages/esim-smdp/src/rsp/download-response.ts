import { type EuiccError, euiccError, onlyChild, tidOf } from './authenticate-response.ts'
import { type MemberList, MessageError, membersOf, objectOf, octetsIn, signatureIn } from './members.ts'
import { OTPK, SEQUENCE, SIGNATURE, TID } from './tags.ts'

const NAME = 'prepareDownloadResponse'
const OK_MEMBERS: MemberList = { name: NAME, tags: [{ tag: SEQUENCE }, { tag: SIGNATURE }] }
const SIGNED: MemberList = {
  name: 'euiccSigned2',
  tags: [{ tag: TID }, { tag: OTPK }, { tag: 0x04, optional: true }],
}
const ERROR_MEMBERS: MemberList = { name: NAME, tags: [{ tag: TID }, { tag: 0x02 }] }
const POINT_OCTETS = 65
const HASH_OCTETS = 32

/** What an eUICC has signed to be given a profile. SGP.22 §5.7.5. */
export interface DownloadOk {
  readonly isOk: true
  readonly tid: string
  /** `euiccSigned2` as it was received. */
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  /** The eUICC's one-time public key, `04 || X || Y`. */
  readonly otpk: Uint8Array
  /** `SHA-256(SHA-256(code) || transaction id)`; undefined: no confirmation code was entered. */
  readonly hashCc: Uint8Array | undefined
}

/** Reads a `BF21`. Throws `MessageError`, `TlvError`. */
export function readDownloadResponse(text: Uint8Array): DownloadOk | EuiccError {
  const choice = onlyChild(objectOf(text, 0xbf21, NAME), NAME)
  if (choice.tag === 0xa1) return euiccError(choice, ERROR_MEMBERS)
  if (choice.tag !== 0xa0) throw new MessageError(`${NAME} is neither a result nor an error`)
  const outer = membersOf(choice, OK_MEMBERS)
  const signed = outer.get(SEQUENCE)
  const members = membersOf(signed, SIGNED)
  const otpk = octetsIn(members.get(OTPK), POINT_OCTETS, 'euiccOtpk')
  if (otpk[0] !== 0x04) throw new MessageError('euiccOtpk is no uncompressed point')
  const hash = members.maybe(0x04)
  return {
    isOk: true,
    tid: tidOf(members.get(TID)),
    signed: signed.raw,
    signature: signatureIn(outer.get(SIGNATURE), 'euiccSignature2'),
    otpk,
    hashCc: hash === undefined ? undefined : octetsIn(hash, HASH_OCTETS, 'hashCc'),
  }
}
