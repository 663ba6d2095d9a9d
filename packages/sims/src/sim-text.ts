import { changeTag, jsonBody } from '@steeple/contracts'
import type { AttachState } from './attach/attach-state.ts'
import { changedPart, type HssView, simRecord, unfixableOf } from './record.ts'
import type { KnownSim } from './store/sim-store.ts'

/** A SIM as answered, as JSON, and what it says that its row does not. */
export interface SimText {
  readonly text: string
  readonly attachState: AttachState
  readonly usedBytes: number
  readonly driver: string
  readonly problem: string | undefined
  readonly unfixable: string | undefined
  /** Made when it is first asked for. */
  tag: string | undefined
}

/** The text of a SIM: the one of before if nothing has changed that it says. */
export function simText(known: KnownSim, hss: HssView, attachState: AttachState, usedBytes: number): SimText {
  const { row, made } = known
  const unfixable = unfixableOf(row, hss)
  if (
    made !== undefined &&
    isStill(made, hss, attachState) &&
    made.usedBytes === usedBytes &&
    made.unfixable === unfixable
  )
    return made
  const shown = row.usage_bytes === usedBytes ? row : { ...row, usage_bytes: usedBytes }
  const text = JSON.stringify(simRecord(shown, hss, attachState))
  const { driver, problem } = hss
  known.made = { text, attachState, usedBytes, driver, problem, unfixable, tag: undefined }
  return known.made
}

function isStill(made: SimText, hss: HssView, attachState: AttachState): boolean {
  return (
    made.attachState.attached === attachState.attached &&
    made.attachState.lastSeenAtMs === attachState.lastSeenAtMs &&
    made.driver === hss.driver &&
    made.problem === hss.problem
  )
}

/** The entity tag of a SIM. */
export function tagOf({ row }: KnownSim, made: SimText): string {
  made.tag ??= changeTag(changedPart(row), jsonBody(made.text))
  return made.tag
}
