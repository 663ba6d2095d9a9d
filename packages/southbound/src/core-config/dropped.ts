import type { Technology } from '@steeple/contracts'
import type { Drops } from '../config-set/daemon.ts'
import { abortable } from '../time-limit.ts'
import type { CoreConfigParts } from './parts.ts'

/** How long the core may take to list its phones, ms. */
const UES_MS = 5_000

const TECHNOLOGIES: Readonly<Record<Drops, readonly Technology[]>> = {
  lte: ['lte'],
  nr: ['nr'],
  all: ['lte', 'nr'],
  none: [],
}

/** How many subscribers are registered now over what drops; no count and why when the core does not tell. */
export async function droppedBy(
  drops: Drops,
  { ues }: CoreConfigParts,
  signal: AbortSignal,
): Promise<{ readonly count: number | undefined; readonly problem: string | undefined }> {
  const registered = new Set<string>()
  try {
    for (const technology of TECHNOLOGIES[drops]) {
      if (ues === undefined) return { count: undefined, problem: undefined }
      for (const { imsi, isRegistered } of await abortable(ues(technology, signal), signal, UES_MS))
        if (isRegistered) registered.add(imsi)
    }
    return { count: registered.size, problem: undefined }
  } catch {
    signal.throwIfAborted()
    // Its words are left out: they belong to the core's own component of the health.
    return { count: undefined, problem: 'the core does not tell how many subscribers it serves now' }
  }
}
