import { move } from '../states/move.ts'
import { termsNow } from '../states/terms.ts'
import { type Es2Call, type Es2Work, isOver, neededIccid, noOrder, ownOrder, putChanged } from './core.ts'
import { Es2Refused } from './refusal.ts'

/** Lets the profile of a confirmed order be downloaded. SGP.22 §5.3.4. */
export async function releaseProfile(call: Es2Call): Promise<Es2Work> {
  const iccid = neededIccid(call)
  const whenNone = await noOrder(call, iccid, 'iccid_not_releasable')
  const iccidMac = await call.parts.lookup.mac(iccid)
  return {
    action: 'esim.release',
    target: `…${iccid.slice(-4)}`,
    run: async (tx) => {
      const { code: before } = await ownOrder(tx, call, iccidMac, whenNone)
      if (before.state !== 'confirmed' || isOver(before, call)) throw new Es2Refused('iccid_not_releasable')
      const { row } = move(before, { kind: 'release' }, termsNow(call.parts))
      await putChanged(tx, before, row)
      return { answer: {}, token: row.token, sim: row.hash, detail: {} }
    },
  }
}
