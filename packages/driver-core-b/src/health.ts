import type { ComponentHealth } from '@steeple/contracts'
import type { CoreFiles } from '@steeple/southbound'
import type { AmfClient } from './amf/amf-client.ts'
import type { RegistryMender } from './mend/registry-mender.ts'
import type { SmfClient } from './smf/smf-client.ts'
import { functionStates, type WatchedCore } from './steer/function-states.ts'
import { problemWords, unfoundIn, type WorkWatch } from './work/work-watch.ts'

/** Which functions serve, and whether AMF and SMF let themselves be asked, as of the last look. */
export interface SteerHealth {
  look(signal: AbortSignal): Promise<void>
  components(): readonly ComponentHealth[]
}

/** What is looked at. */
export interface HealthParts {
  readonly amf: AmfClient
  readonly smf: SmfClient
  readonly watched: WatchedCore
  readonly work: WorkWatch
  readonly mender: RegistryMender
  readonly files: Pick<CoreFiles, 'appliedSha256'>
  /** Whether this node keeps the core; then the node is degraded with it. */
  isRequired(): boolean
  /** Called when a status may be another one. */
  changed(): void
  /** Told of each function whose state is known. */
  seen(daemon: string, isUp: boolean): void
}

type Judgement = readonly [status: ComponentHealth['status'], detail: string]

/** Longest look, ms. */
const LOOK_MS = 5_000

/** Nothing has been looked at yet: everything counts as well. */
export function steerHealth(parts: HealthParts): SteerHealth {
  const { amf, smf } = parts
  let found: Readonly<Record<'daemons' | 'amf' | 'smf', Judgement>> = {
    daemons: ['ok', 'not asked yet'],
    amf: ['ok', 'not asked yet'],
    smf: ['ok', 'not asked yet'],
  }
  return {
    look: async (signal) => {
      // Where the functions are goes by the files that are in force now.
      await parts.files.appliedSha256().catch(() => undefined)
      const [daemons, amfSeen, smfSeen] = await Promise.all([
        daemonsOf(parts, signal),
        asked('down', 'nobody can be listed or cut off', (bound) => amf.ping(bound), signal),
        asked('degraded', 'that a session is gone cannot be confirmed', (bound) => smf.ping(bound), signal),
      ])
      found = { daemons, amf: amfSeen, smf: smfSeen }
      parts.changed()
    },
    components: () =>
      Object.entries(found).map(([name, [status, detail]]) => ({
        name,
        kind: 'core',
        status,
        detail,
        required: name !== 'smf' && parts.isRequired(),
      })),
  }
}

async function daemonsOf(
  { watched, work, mender, seen }: HealthParts,
  signal: AbortSignal,
): Promise<Judgement> {
  const [services, problems] = await Promise.all([functionStates(watched, signal), work.problems(0, signal)])
  const all = [...services]
  const unfound = unfoundIn(problems).filter((nf) => services.get(nf) === 'up')
  await mender.look(unfound, signal)
  const states = all.filter(([, state]) => state !== 'unknown')
  for (const [nf, state] of states) seen(nf, state === 'up')
  const namesOf = (wanted: string): string =>
    all
      .filter(([, state]) => state === wanted)
      .map(([nf]) => nf)
      .join(', ')
  // Nobody is left out without a word.
  const [down, unknown] = [namesOf('down'), namesOf('unknown')]
  const rest = unknown === '' ? '' : `; not known: ${unknown}`
  if (states.length === 0) return ['ok', 'no function is to be found from here']
  const idle = new Map([...problems].filter(([nf]) => services.get(nf) !== 'down'))
  const told = [
    ...(down === '' ? [] : [`down: ${down}`]),
    ...(idle.size === 0 ? [] : [`not at work: ${problemWords(idle)}`]),
    ...(unfound.length === 0 ? [] : [mender.words()].filter((words) => words !== '')),
  ]
  if (told.length === 0) return ['ok', `up: ${namesOf('up')}${rest}`]
  const isAll = states.every(([, state]) => state === 'down')
  return [isAll ? 'down' : 'degraded', `${told.join('; ')}${rest}`]
}

async function asked(
  fault: 'down' | 'degraded',
  lost: string,
  ping: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<Judgement> {
  try {
    await ping(AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]))
    return ['ok', 'its OAM service answers']
  } catch (error) {
    signal.throwIfAborted()
    return [fault, `${lost}: ${error instanceof Error ? error.message : String(error)}`]
  }
}
