import { systemdUnits } from '../engine/systemd.ts'
import { type Program, programOf } from './programs.ts'

/** A unit of systemd that starts a daemon of a core. */
export interface FoundUnit extends Program {
  readonly unit: string
  readonly pid: number | undefined
}

const PATTERNS = ['*open5gs*.service', '*free5gc*.service']

/** The units of cores, those that do not run too, and `more`. Asks systemd alone. Throws `southbound_unavailable`. */
export async function findUnits(more: readonly string[], signal: AbortSignal): Promise<readonly FoundUnit[]> {
  const units = await systemdUnits(PATTERNS, more, signal)
  return units.flatMap(({ unit, pid, argv, folder }) => {
    const program = programOf(argv, folder)
    return program === undefined ? [] : [{ ...program, unit, pid }]
  })
}
