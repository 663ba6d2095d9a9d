import type { Context } from '@steeple/contracts'
import { abortable } from '@steeple/southbound'
import { type DesiredRadio, desiredRadio } from './desired-radio.ts'

/** A gate that cannot be asked for so long counts as closed, ms. */
const SILENCE_MS = 30_000
/** How long one answer of the gate may take, ms: for a step, and for what is only shown. */
const STEP_BOUND_MS = 5_000
const SHOWN_BOUND_MS = 500

/** The gate's answers, and how long there has been none. */
export interface GateQuestion {
  /** The last answer. */
  readonly desired: DesiredRadio | undefined
  /** Asks. Throws what the gate throws, or when it takes too long. */
  ask(): Promise<DesiredRadio>
  /** Asks for what is shown: without an answer in time the last one stays. */
  refresh(): Promise<void>
  /** Whether it has not answered for so long that it counts as closed. */
  isSilent(): boolean
}

/** A gate that has just answered nothing yet. */
export function gateQuestion(
  context: Pick<Context, 'use' | 'settings' | 'clock' | 'retiring'>,
): GateQuestion {
  const { clock } = context
  let heardMs = clock.monotonicMs()
  let desired: DesiredRadio | undefined
  const answer = async (boundMs: number): Promise<DesiredRadio> => {
    const found = await abortable(desiredRadio(context), context.retiring, boundMs)
    heardMs = clock.monotonicMs()
    desired = found
    return found
  }
  return {
    get desired() {
      return desired
    },
    ask: () => answer(STEP_BOUND_MS),
    refresh: async () => {
      try {
        await answer(SHOWN_BOUND_MS)
      } catch {
        // The next step says why, and how long that is borne.
      }
    },
    isSilent: () => clock.monotonicMs() - heardMs > SILENCE_MS,
  }
}
