import type { Settings } from '@steeple/contracts'
import type { Engine, SaidOfPhone } from '@steeple/southbound'
import { newLinesOf, WRITERS } from '../diagnose/diagnose.ts'
import { saidOf } from '../diagnose/refusals.ts'
import type { Daemon, Generation } from '../render/roles.ts'

interface ReaderParts {
  readonly engine: Engine
  readonly settings: () => Pick<Settings, 'core_a' | 'southbound'>
  readonly generations: () => readonly Generation[]
}

/** What MME and AMF write of phones, from the first look on. */
export function registrationReader({
  engine,
  settings,
  generations,
}: ReaderParts): (signal: AbortSignal) => Promise<readonly SaidOfPhone[]> {
  const positions = new Map<Daemon, string>()
  return async (signal) => {
    const said: SaidOfPhone[] = []
    for (const daemon of generations().map((generation) => WRITERS[generation])) {
      // A log that cannot be read is told of where it is needed.
      const found = await newLinesOf(daemon, settings(), engine, positions.get(daemon), signal).catch(
        () => undefined,
      )
      signal.throwIfAborted()
      if (found === undefined) continue
      positions.set(daemon, found.position)
      said.push(...found.lines.flatMap((line) => saidOf(line) ?? []))
    }
    return said
  }
}
