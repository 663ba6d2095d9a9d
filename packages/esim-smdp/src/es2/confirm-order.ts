import type { MutationTx } from '@steeple/contracts'
import { confirmationDigest } from '../codes/confirmation.ts'
import { move } from '../states/move.ts'
import { termsNow } from '../states/terms.ts'
import type { NamedEuicc } from '../store/euicc-store.ts'
import { codeOfMatching } from '../store/order-store.ts'
import type { CodeRow } from '../store/rows.ts'
import {
  type Es2Call,
  type Es2Done,
  type Es2Work,
  euiccIn,
  isOver,
  neededIccid,
  noOrder,
  ownOrder,
  putChanged,
} from './core.ts'
import { Es2Refused } from './refusal.ts'

/** SGP.22 §4.1.1; an activation code has room for more, QR codes are read better with less. */
const MATCHING_ID = /^[A-Z0-9-]{1,64}$/
/** Characters, hyphens apart, that can hold 128 random bits: of ten digits, sixteen, and of digits and letters. */
const ENOUGH: readonly (readonly [RegExp, number])[] = [
  [/^[0-9]*$/, 39],
  [/^[0-9A-F]*$/, 32],
  [/^[0-9A-Z]*$/, 25],
]
/** Random characters of that number have more kinds but once in 10⁹; what is padded or repeated has fewer. */
const LEAST_KINDS = 6

/**
 * Checks a matching id of an order system's own: it is all that keeps a stranger from the profile, unless the order is
 * for one EID. So there must be room for 128 bits in it; whether they are random nobody can see from here.
 * Throws `Es2Refused` (`matching_id_format`, `matching_id_weak`).
 */
function checkOwnMatchingId(matchingId: string, isLinked: boolean): void {
  if (!MATCHING_ID.test(matchingId)) throw new Es2Refused('matching_id_format')
  if (isLinked) return
  const characters = matchingId.replaceAll('-', '')
  const least = ENOUGH.find(([kind]) => kind.test(characters))?.[1] ?? Number.POSITIVE_INFINITY
  if (characters.length < least || new Set(characters).size < LEAST_KINDS)
    throw new Es2Refused('matching_id_weak')
}

const ANY_MATCHING_ID = /^[\s\S]{0,512}$/
const CONFIRMATION_CODE = /^[\x20-\x7e]{1,64}$/
const ANY_TEXT = /^[\s\S]{0,512}$/

/** What an order is confirmed with. */
interface Confirmation {
  readonly iccidMac: Uint8Array
  /** Undefined: the drawn one. Empty: none is told, the eUICC is known by its EID. */
  readonly matchingId: string | undefined
  readonly matchingMac: Uint8Array | undefined
  readonly eid: NamedEuicc | undefined
  /** SHA-256 of the confirmation code. */
  readonly confirmation: Uint8Array | undefined
  readonly isReleased: boolean
}

/** Gives an order its matching id, and what else it is to be downloaded with. SGP.22 §5.3.2. */
export async function confirmOrder(call: Es2Call): Promise<Es2Work> {
  const { message, parts } = call
  const iccid = neededIccid(call)
  const isReleased = message.flag('releaseFlag')
  if (isReleased === undefined) throw new Es2Refused('format', { detail: '(releaseFlag is missing)' })
  if ((message.text('smdsAddress', ANY_TEXT) ?? '') !== '') throw new Es2Refused('sm_ds')
  const matchingId = message.text('matchingId', ANY_MATCHING_ID)
  const code = message.text('confirmationCode', CONFIRMATION_CODE)
  const whenNone = await noOrder(call, iccid, 'iccid_unavailable')
  const asked: Confirmation = {
    iccidMac: await parts.lookup.mac(iccid),
    matchingId,
    matchingMac:
      matchingId === undefined || matchingId === '' ? undefined : await parts.lookup.mac(matchingId),
    eid: await euiccIn(call),
    confirmation: code === undefined ? undefined : confirmationDigest(code),
    isReleased,
  }
  return {
    action: 'esim.confirm',
    target: `…${iccid.slice(-4)}`,
    run: async (tx) => {
      const { code: before } = await ownOrder(tx, call, asked.iccidMac, whenNone)
      return await confirm(tx, call, before, asked)
    },
  }
}

async function confirm(
  tx: MutationTx,
  call: Es2Call,
  before: CodeRow,
  asked: Confirmation,
): Promise<Es2Done> {
  if (before.state !== 'allocated' || isOver(before, call)) throw new Es2Refused('iccid_unavailable')
  const { eid, matchingId, matchingMac, isReleased } = asked
  if (eid !== undefined && before.eid_hash !== null && before.eid_hash !== eid.hash)
    throw new Es2Refused('eid_differs')
  const isLinked = eid !== undefined || before.eid_hash !== null
  if (matchingId === '' && !isLinked) throw new Es2Refused('eid_missing')
  if (matchingId !== undefined && matchingId !== '') checkOwnMatchingId(matchingId, isLinked)
  const other = matchingMac === undefined ? undefined : await codeOfMatching(tx, matchingMac)
  if (other !== undefined && other.token !== before.token) throw new Es2Refused('matching_id_taken')
  const terms = termsNow(call.parts)
  const confirmed = move(completed(call, before, asked), { kind: 'confirm' }, terms).row
  const after = isReleased ? move(confirmed, { kind: 'release' }, terms).row : confirmed
  await putChanged(tx, before, after)
  return {
    answer: {
      ...(eid !== undefined && { eid: eid.eid }),
      matchingId: matchingId ?? matchingIdOf(call, after),
      smdpAddress: after.smdp_address,
    },
    token: after.token,
    sim: after.hash,
    detail: {
      is_released: isReleased,
      is_linked: after.eid_hash !== null,
      confirmation_required: after.confirmation_sealed !== null,
    },
  }
}

/** The code with what it was confirmed with. */
function completed(
  { parts: { vault } }: Es2Call,
  before: CodeRow,
  { eid, matchingId, matchingMac, confirmation }: Confirmation,
): CodeRow {
  const aad = `esim_smdp_code/${before.token}`
  return {
    ...before,
    ...(eid !== undefined && { eid_hash: eid.hash, eid_last4: eid.eid.slice(-4) }),
    ...(matchingMac !== undefined && {
      matching_mac: matchingMac,
      matching_sealed: vault.seal(Buffer.from(matchingId ?? '', 'ascii'), aad),
    }),
    ...(confirmation !== undefined && { confirmation_sealed: vault.seal(confirmation, aad) }),
  }
}

function matchingIdOf({ parts }: Es2Call, row: CodeRow): string {
  const octets = parts.vault.open(row.matching_sealed, `esim_smdp_code/${row.token}`)
  try {
    return Buffer.from(octets).toString('ascii')
  } finally {
    octets.fill(0)
  }
}
