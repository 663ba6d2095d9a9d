import type { ImsiHash, MutationTx } from '@steeple/contracts'
import { drawMatchingId } from '../codes/draw.ts'
import { move } from '../states/move.ts'
import { termsNow } from '../states/terms.ts'
import { CODES, type CodeRow } from '../store/rows.ts'
import { type Es2Call, type Es2Done, type Es2Work, euiccIn, neededIccid, noOrder, ownOrder } from './core.ts'
import { Es2Refused } from './refusal.ts'

const ANY_MATCHING_ID = /^[\s\S]{0,512}$/

/** What an order is cancelled with. */
interface Cancellation {
  readonly iccidMac: Uint8Array
  readonly eidHash: string | undefined
  readonly matchingMac: Uint8Array | undefined
  readonly isFinal: boolean
  /** A matching id that nobody knows, in the place of the one that is given back. */
  readonly nobodys: { readonly id: string; readonly mac: Uint8Array }
}

/**
 * Ends an order. `Available`: its SIM may be ordered again, which is possible as long as nobody has it; `Unavailable`:
 * the SIM is revoked. SGP.22 §5.3.3.
 */
export async function cancelOrder(call: Es2Call): Promise<Es2Work> {
  const { message, parts } = call
  const iccid = neededIccid(call)
  const final = message.text('finalProfileStatusIndicator', /^(Available|Unavailable)$/)
  if (final === undefined)
    throw new Es2Refused('format', { detail: '(finalProfileStatusIndicator is missing)' })
  const matchingId = message.text('matchingId', ANY_MATCHING_ID)
  const whenNone = await noOrder(call, iccid, 'iccid_unavailable')
  const id = drawMatchingId()
  const asked: Cancellation = {
    iccidMac: await parts.lookup.mac(iccid),
    eidHash: (await euiccIn(call))?.hash,
    matchingMac:
      matchingId === undefined || matchingId === '' ? undefined : await parts.lookup.mac(matchingId),
    isFinal: final === 'Unavailable',
    nobodys: { id, mac: await parts.lookup.mac(id) },
  }
  return {
    action: 'esim.cancel_order',
    target: `…${iccid.slice(-4)}`,
    run: async (tx) => {
      const { code } = await ownOrder(tx, call, asked.iccidMac, whenNone)
      return await cancel(tx, call, code, asked)
    },
  }
}

async function cancel(tx: MutationTx, call: Es2Call, before: CodeRow, asked: Cancellation): Promise<Es2Done> {
  const { parts } = call
  const { eidHash, matchingMac, isFinal, nobodys } = asked
  if (eidHash !== undefined && before.eid_hash !== eidHash) throw new Es2Refused('eid_differs')
  if (matchingMac !== undefined && Buffer.compare(matchingMac, before.matching_mac) !== 0)
    throw new Es2Refused('matching_id_differs')
  // What was delivered may be on an eUICC: nobody else may get it. What is installed is no order any more.
  if (before.state === 'installed' || (before.downloads > 0 && !isFinal))
    throw new Es2Refused('iccid_unavailable')
  await CODES.put(tx, {
    ...move(before, { kind: 'revoke' }, termsNow(parts)).row,
    last_error: 'its order was cancelled',
    matching_mac: nobodys.mac,
    matching_sealed: parts.vault.seal(Buffer.from(nobodys.id, 'ascii'), `esim_smdp_code/${before.token}`),
    confirmation_sealed: null,
  })
  // The hash of a row is one.
  if (isFinal) await parts.issuer.revokeIn(tx, before.hash as ImsiHash)
  return {
    answer: {},
    token: before.token,
    sim: before.hash,
    detail: { from: before.state, is_sim_revoked: isFinal },
  }
}
