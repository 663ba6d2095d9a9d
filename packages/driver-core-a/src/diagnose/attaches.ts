import type { CoreAttaches, CoreDriver, Imsi, Settings } from '@steeple/contracts'
import type { Engine } from '@steeple/southbound'
import { parseImsi } from '@steeple/telecom'
import type { Daemon, Generation } from '../render/roles.ts'
import { daemonLog, newLinesOf } from './daemon-log.ts'
import { type DiagnoseParts, WRITERS } from './diagnose.ts'
import { COLOURS, textOf } from './refusals.ts'

/** `[999700000000001] Attach complete`, `[imsi-999700000000001] Registration complete`; not `… in INVALID-STATE`. */
const COMPLETE = /^\[(?:imsi-)?(\d{5,15})\] (?:Attach|Registration) complete(?: \(|$)/
/** Daemons that write of each attach write of much else on that level. */
const TELLS = / INFO: /

/** `attaches` of the driver: what MME and AMF write when an attach is complete, read on from where it was read to. */
export function attachTeller(
  parts: Pick<DiagnoseParts, 'settings' | 'generations' | 'engine'>,
): NonNullable<CoreDriver['attaches']> {
  return async (position, signal) => {
    const daemons = parts.generations().map((generation: Generation) => WRITERS[generation])
    const before = positionsFrom(position)
    const after: Record<string, Heard> = {}
    const imsis: Imsi[] = []
    let isWhole = true
    for (const daemon of daemons) {
      const settings = parts.settings()
      const heard = before[daemon]
      const tellsAlready = heard?.tells ?? (await isTelling(daemon, settings, parts.engine, signal))
      const found = await newLinesOf(daemon, settings, parts.engine, heard?.to, signal)
      if (found === undefined) return undefined
      imsis.push(...found.lines.flatMap((line) => attachIn(line) ?? []))
      after[daemon] = { to: found.position, tells: tellsAlready || found.lines.some((line) => tellsIn(line)) }
      isWhole &&= found.isWhole
    }
    const isTellingNow = Object.values(after).every(({ tells }) => tells)
    return {
      imsis: isTellingNow ? imsis : [],
      isTelling: isTellingNow,
      position: JSON.stringify(after),
      isWhole,
    } satisfies CoreAttaches
  }
}

/** Up to where a daemon was heard, and whether it has written on the level on which it writes of attaches. */
interface Heard {
  readonly to: string
  readonly tells: boolean
}

function tellsIn(line: string): boolean {
  return TELLS.test(line.replaceAll(COLOURS, ''))
}

/** Whose attach a line says is complete. */
function attachIn(line: string): Imsi | undefined {
  const digits = COMPLETE.exec(textOf(line) ?? '')?.[1]
  return digits === undefined ? undefined : parseImsi(digits)
}

/** A log of warnings alone says nothing of who gets on, and neither does one that is not there yet. */
async function isTelling(
  daemon: Daemon,
  settings: Pick<Settings, 'core_a' | 'southbound'>,
  engine: Engine,
  signal: AbortSignal,
): Promise<boolean> {
  const log = await daemonLog(daemon, settings, engine, signal)
  return 'text' in log && tellsIn(log.text)
}

function positionsFrom(text: string | undefined): Readonly<Record<string, Heard | undefined>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    if (typeof value !== 'object' || value === null) return {}
    // This driver, or an earlier one, wrote it; what does not look like that is as none.
    const all = Object.entries(value as Record<string, Partial<Heard> | undefined>)
    return Object.fromEntries(
      all.flatMap(([daemon, { to, tells } = {}]) =>
        typeof to === 'string' && typeof tells === 'boolean' ? [[daemon, { to, tells }]] : [],
      ),
    )
  } catch {
    return {}
  }
}
