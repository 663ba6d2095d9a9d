import { type CoreAttaches, coreDriverRef } from '@steeple/contracts'
import { imsiHash, safeText } from '@steeple/telecom'
import type { SimsParts } from '../parts.ts'
import {
  addAttaches,
  attachPosition,
  attachTotals,
  keepAttachPosition,
  networksOf,
} from '../store/attach-store.ts'

/** Counts attaches as the core tells of each. */
export interface AttachCount {
  /** Counts what the core has told since the look before. False: it does not tell, and who looks must count. */
  look(signal: AbortSignal): Promise<boolean>
}

/** Bound on one question, ms. */
const ASK_MS = 3_000

/**
 * One count for each attach, whatever restarts: totals and the place up to which the core was heard are kept in one commit.
 */
export function attachCount(parts: SimsParts): AttachCount {
  const { context, counters } = parts
  let isFailing = false

  const ask = async (
    position: string | undefined,
    signal: AbortSignal,
  ): Promise<CoreAttaches | undefined> => {
    const core = context.maybe(coreDriverRef)
    return await core?.attaches?.(position, AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]))
  }
  const keep = async (core: string, before: string | undefined, told: CoreAttaches): Promise<void> => {
    const networks = await networksOf(context.db, told.imsis.map(imsiHash))
    await context.db.write(async (tx) => {
      // Another instance may have taken over, and counted the same.
      if ((await attachPosition(tx, core)) !== before) return
      await keepAttachPosition(tx, core, told.position)
      await addAttaches(tx, networks)
    })
    if (!told.isWhole)
      context.log.warn({}, 'some of the log of the core was gone before attaches in it were counted')
  }

  return {
    look: async (signal) => {
      const { core } = context.settings
      const position = await attachPosition(context.db, core)
      try {
        const told = await ask(position, signal)
        if (told === undefined && position !== undefined)
          await context.db.write((tx) => keepAttachPosition(tx, core, undefined))
        if (told !== undefined && told.position !== position) await keep(core, position, told)
        isFailing = false
        counters.told(await attachTotals(context.db), told?.isTelling === true)
        // The first time it has told where to begin, and of nobody.
        return told?.isTelling === true && position !== undefined
      } catch (error) {
        signal.throwIfAborted()
        if (!isFailing)
          context.log.warn({ reason: safeText(error) }, 'core did not tell of attaches; it is asked again')
        isFailing = true
        // What was not heard now is counted when it is heard.
        return position !== undefined
      }
    },
  }
}
