import { coreDriverRef, type ImsiHash, systemPrincipal } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { CUT_RESOURCE, type SimsParts } from '../parts.ts'
import { safeText } from '../provision/hss-link.ts'
import { markDrifted } from '../provision/marks.ts'
import { changeSim } from '../states/change.ts'
import { wantedInHss } from '../states/machine.ts'
import { SIMS } from '../store/sim-row.ts'

/** Looks at who is attached: the first attach of a SIM, each further one, and phones that should be off. */
export interface AttachWatch {
  look(signal: AbortSignal): Promise<void>
}

/** Bound on one look, ms. */
const LOOK_MS = 10_000

/** A watch that has seen nobody yet: who is there at its first look has attached before, unless its SIM says otherwise. */
export function attachWatch(parts: SimsParts): AttachWatch {
  const { context } = parts
  let before: ReadonlySet<ImsiHash> | undefined
  let isQuiet = false
  return {
    look: async (signal) => {
      const core = context.maybe(coreDriverRef)
      if (core === undefined) {
        before = undefined
        return
      }
      let now: ReadonlySet<ImsiHash>
      try {
        const ues = await core.ues(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]))
        now = new Set(ues.filter((ue) => ue.isRegistered).map((ue) => imsiHash(ue.imsi)))
        isQuiet = false
      } catch (error) {
        if (!isQuiet && !signal.aborted)
          context.log.warn({ reason: safeText(error) }, 'core did not say who is attached')
        isQuiet = true
        return
      }
      for (const hash of now) if (before?.has(hash) !== true) await seen(parts, hash, before === undefined)
      before = now
    },
  }
}

async function seen(parts: SimsParts, hash: ImsiHash, isBaseline: boolean): Promise<void> {
  const { context, counters } = parts
  const row = await SIMS.find(context.db, { hash })
  // A phone of a subscriber that this node does not know is not this plugin's business.
  if (row === undefined) return
  if (wantedInHss(row.state) !== 'open') {
    await cutAgain(parts, hash)
    return
  }
  if (!isBaseline) parts.seen.attached(hash)
  if (!isBaseline || row.state === 'issued') counters.attached(row.plmn)
  if (row.state !== 'issued') return
  await context
    .mutate(systemPrincipal('sims'), 'sim.attach', hash, async (tx) => {
      const { before, after } = await changeSim(parts, tx, hash, { action: 'attach' })
      tx.audit({ detail: { from: before.state, to: after.state } })
      tx.event({ type: 'sim.attach', subject: hash, data: { from: before.state, to: after.state } })
    })
    .catch((error: unknown) => {
      // It was suspended or revoked in this very moment; its cut is under way.
      context.log.debug({ reason: safeText(error) }, 'attach came too late')
    })
}

/** A phone that should be off is on: cut it off again. */
async function cutAgain(parts: SimsParts, hash: ImsiHash): Promise<void> {
  const { context } = parts
  const row = await SIMS.find(context.db, { hash })
  if (row?.hss_status === 'synced')
    await markDrifted(context.db, [
      { row, reason: 'the phone was attached although it may not be', seq: row.hss_seq },
    ])
  context.enqueue(CUT_RESOURCE, hash)
}
