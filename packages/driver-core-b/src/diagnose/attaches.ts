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
    if (position === undefined) {
      const log = await amfLog(settings(), engine, signal)
      if (!('text' in log) || !TELLS.test(log.text)) return undefined
    }
    const found = await newLinesOfOutput(engine, container, position, signal)
    return { imsis: attachesIn(found.lines), position: found.position, isWhole: found.isWhole }
  }
}

function attachesIn(lines: readonly string[]): readonly Imsi[] {
  const imsis: Imsi[] = []
  for (const { supi, text } of entriesOf(lines.join('\n'))) {
    const imsi = supi === undefined || text !== COMPLETE ? undefined : parseImsi(supi)
    if (imsi !== undefined) imsis.push(imsi)
  }
  return imsis
}
