import type { Clock, ComponentHealth, Imsi, Settings } from '@steeple/contracts'
import { countText } from '@steeple/contracts'
import type { Engine } from '@steeple/southbound'
import { imsiHash } from '@steeple/telecom'
import { newLinesOf, WRITERS } from '../diagnose/diagnose.ts'
import { saidOf } from '../diagnose/refusals.ts'
import type { Daemon, Generation } from '../render/roles.ts'

/** Whether the core lets phones on. */
export interface RegistrationWatch {
  readonly everyMs: number
  look(signal: AbortSignal): Promise<void>
  health(): ComponentHealth
}

interface WatchParts {
  readonly clock: Clock
  readonly engine: Engine
  readonly settings: () => Pick<Settings, 'core_a' | 'southbound'>
  readonly generations: () => readonly Generation[]
}

const EVERY_MS = 10_000
/** Refusals that count are as old at most. */
const RECENT_MS = 5 * 60_000
/** One phone with a wrong card is no outage, and neither are two. */
const LEAST_PHONES = 3

/** Refusals of phones by the hash of their identity, as MME and AMF write of them from the first look on. */
export function registrationWatch({ clock, engine, settings, generations }: WatchParts): RegistrationWatch {
  const positions = new Map<Daemon, string>()
  const refused = new Map<string, { readonly atMs: number; readonly detail: string }>()
  let letOnMs = Number.NEGATIVE_INFINITY
  const take = (lines: readonly string[], nowMs: number): void => {
    for (const said of lines.flatMap((line) => saidOf(line) ?? [])) {
      // The digits of an identity, as daemons write it.
      const who = imsiHash(said.who as Imsi)
      if (said.meaning === 'success') {
        refused.delete(who)
        letOnMs = nowMs
      } else refused.set(who, { atMs: nowMs, detail: said.meaning.detail })
    }
    for (const [who, { atMs }] of refused) if (nowMs - atMs > RECENT_MS) refused.delete(who)
  }
  return {
    everyMs: EVERY_MS,
    look: async (signal) => {
      for (const daemon of generations().map((generation) => WRITERS[generation])) {
        // A log that cannot be read is told of where it is needed.
        const found = await newLinesOf(daemon, settings(), engine, positions.get(daemon), signal).catch(
          () => undefined,
        )
        signal.throwIfAborted()
        if (found === undefined) continue
        positions.set(daemon, found.position)
        take(found.lines, clock.monotonicMs())
      }
    },
    health: () => {
      const common = {
        name: 'registration',
        kind: 'core',
        required: false,
        incident: 'no_registration',
      } as const
      const nowMs = clock.monotonicMs()
      const recent = [...refused.values()].filter(({ atMs }) => nowMs - atMs <= RECENT_MS)
      if (recent.length < LEAST_PHONES || nowMs - letOnMs < RECENT_MS)
        return {
          ...common,
          status: 'ok',
          detail: `${countText(recent.length, 'phone')} refused in the last 5 minutes`,
        }
      const reasons = Map.groupBy(recent, ({ detail }) => detail)
      const [why] = [...reasons].toSorted(([, one], [, other]) => other.length - one.length)[0] ?? ['']
      const detail = `${countText(recent.length, 'phone was', 'phones were')} refused in the last 5 minutes, and none got on; most: ${why}`
      return { ...common, status: 'degraded', detail }
    },
  }
}
