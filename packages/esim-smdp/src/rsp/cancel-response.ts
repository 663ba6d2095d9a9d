import { onlyChild, tidOf } from './authenticate-response.ts'
import { integerOf, type MemberList, MessageError, membersOf, objectOf, signatureIn } from './members.ts'
import { SEQUENCE, SIGNATURE, TID } from './tags.ts'

const NAME = 'cancelSessionResponse'
const OK_MEMBERS: MemberList = { name: NAME, tags: [{ tag: SEQUENCE }, { tag: SIGNATURE }] }
const SIGNED: MemberList = {
  name: 'euiccCancelSessionSigned',
  tags: [{ tag: TID }, { tag: 0x81 }, { tag: 0x82 }],
}

/** What an eUICC has signed to end a session. SGP.22 §5.7.14. */
export interface CancelOk {
  readonly tid: string
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  /** The value octets of the SM-DP+'s object identifier. */
  readonly owner: Uint8Array
  readonly reason: number
}

/** Reads a `BF41`; undefined for an eUICC that could not end it, which signs nothing. Throws `MessageError`, `TlvError`. */
export function readCancelResponse(text: Uint8Array): CancelOk | undefined {
  const choice = onlyChild(objectOf(text, 0xbf41, NAME), NAME)
  // An INTEGER with or without its own tag: both are in use. Facts section 1.2.
  if (choice.tag === 0xa1 || choice.tag === 0x81) return undefined
  if (choice.tag !== 0xa0) throw new MessageError(`${NAME} is neither a result nor an error`)
  const outer = membersOf(choice, OK_MEMBERS)
  const signed = outer.get(SEQUENCE)
  const members = membersOf(signed, SIGNED)
  return {
    tid: tidOf(members.get(TID)),
    signed: signed.raw,
    signature: signatureIn(outer.get(SIGNATURE), 'euiccCancelSessionSignature'),
    owner: members.get(0x81).value,
    reason: integerOf(members.get(0x82), 'reason'),
  }
}
