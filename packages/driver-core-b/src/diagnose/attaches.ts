import type { CoreDriver, Imsi } from '@steeple/contracts'
import { newLinesOfOutput } from '@steeple/southbound'
import { parseImsi } from '@steeple/telecom'
import { entriesOf } from './amf-log.ts'
import { amfLog, type DiagnoseParts } from './diagnose.ts'

const COMPLETE = 'Handle Registration Complete'
/** An AMF that writes of each registration writes of much else on that level. */
const TELLS = /\[INFO\]/

/** `attaches` of the driver: what the AMF's container says when a registration is complete, read on from where it was read to. */
export function attachTeller({
  settings,
  engine,
}: Pick<DiagnoseParts, 'settings' | 'engine'>): NonNullable<CoreDriver['attaches']> {
  return async (position, signal) => {
    const { core_b: coreB, southbound } = settings()
    const container = coreB.containers.amf
    if (southbound.driver !== 'container' || container === undefined) return undefined
    const heard = heardFrom(position)
    const tellsAlready = heard?.tells ?? (await isTelling(settings(), engine, signal))
    if (tellsAlready === undefined) return undefined
    const found = await newLinesOfOutput(engine, container, heard?.to, signal)
    const tells = tellsAlready || found.lines.some((line) => TELLS.test(line))
    const next: Heard = { to: found.position, tells }
    const imsis = tells ? attachesIn(found.lines) : []
    return { imsis, isTelling: tells, position: JSON.stringify(next), isWhole: found.isWhole }
  }
}

/** Up to where the AMF was heard, and whether it has written on the level on which it writes of registrations. */
interface Heard {
  readonly to: string
  readonly tells: boolean
}

function heardFrom(text: string | undefined): Heard | undefined {
  try {
    // This driver, or an earlier one, wrote it; what does not look like that is as none.
    const { to, tells } = JSON.parse(text ?? '{}') as Partial<Heard>
    return typeof to === 'string' && typeof tells === 'boolean' ? { to, tells } : undefined
  } catch {
    return undefined
  }
}

/** Undefined: its log cannot be read. */
async function isTelling(
  settings: ReturnType<DiagnoseParts['settings']>,
  engine: DiagnoseParts['engine'],
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const log = await amfLog(settings, engine, signal)
  return 'text' in log ? TELLS.test(log.text) : undefined
}

function attachesIn(lines: readonly string[]): readonly Imsi[] {
  const imsis: Imsi[] = []
  for (const { supi, text } of entriesOf(lines.join('\n'))) {
    const imsi = supi === undefined || text !== COMPLETE ? undefined : parseImsi(supi)
    if (imsi !== undefined) imsis.push(imsi)
  }
  return imsis
}
