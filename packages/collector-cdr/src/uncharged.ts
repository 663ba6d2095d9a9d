import type { Clock } from '@steeple/contracts'
import type { ChargingRun, Free5gcOam, Registration } from '@steeple/southbound'
import { imsiHash } from '@steeple/telecom'
import { type Charged, chargedNow, sessionDigest } from './count/charged.ts'
import type { Moved } from './count/tally.ts'

/** Looks for sessions of which the CHF writes nothing. */
export interface UnchargedSessions {
  /** What is known of sessions after `before`, and that of each that is lost octets are missing. Tells the driver of the core. */
  look(before: Charged, lookedMs: number, signal: AbortSignal): Promise<Look>
}

interface Look {
  readonly charged: Charged
  readonly volumes: readonly Moved[]
}

/** A list of so long ago still tells, ms. */
const LIST_AGE_MS = 5_000
/** How often it is told that octets are missing: the hours of a ledger are longer, ms. */
const TELL_MS = 60_000

export function unchargedSessions(clock: Clock, oam: () => Free5gcOam | undefined): UnchargedSessions {
  let told = { lost: new Set() as ReadonlySet<string>, atMs: Number.NEGATIVE_INFINITY }
  return {
    look: async (before, lookedMs, signal) => {
      const core = oam()
      const seen = core && (await seenAt(core, signal))
      // Where nobody can be asked nothing is known to be lost, and what was lost stays so.
      if (core === undefined || seen === undefined) return { charged: before, volumes: [] }
      const sessions = sessionsOf(seen.registrations)
      const charged = chargedNow(before, new Set(sessions.map(({ digest }) => digest)), seen.run)
      const lost = sessions.filter(({ digest }) => charged.lost.has(digest))
      core.uncharged(lost.map(({ imsi }) => imsi))
      const isNew = lost.some(({ digest }) => !told.lost.has(digest))
      if (!isNew && clock.monotonicMs() - told.atMs < TELL_MS) return { charged, volumes: [] }
      told = { lost: charged.lost, atMs: clock.monotonicMs() }
      const toMs = clock.nowMs()
      const span = { fromMs: Math.min(lookedMs === 0 ? toMs : lookedMs, toMs - 1), toMs }
      const volumes = lost.map(({ imsi, dnn }) => ({
        imsi: imsiHash(imsi),
        apn: dnn,
        upBytes: 0,
        downBytes: 0,
        isIncomplete: true,
        ...span,
      }))
      return { charged, volumes }
    },
  }
}

/** The list of sessions and the run of the CHF; undefined where there is none, or somebody cannot be asked. */
async function seenAt(
  core: Free5gcOam,
  signal: AbortSignal,
): Promise<{ readonly registrations: readonly Registration[]; readonly run: ChargingRun } | undefined> {
  try {
    // In this order: a session of the list began before the CHF is looked at.
    const { registrations } = await core.registrations(LIST_AGE_MS, signal)
    const run = await core.charging(signal)
    return run === undefined ? undefined : { registrations, run }
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

function sessionsOf(registrations: readonly Registration[]) {
  return registrations.flatMap(({ imsi, sessions }) =>
    sessions.flatMap(({ ref, dnn }) =>
      ref === '' || dnn === '' ? [] : [{ imsi, dnn, digest: sessionDigest(ref) }],
    ),
  )
}
