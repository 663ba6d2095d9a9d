import { type ComponentHealth, type Context, messageOf } from '@steeple/contracts'
import { type CoreFiles, workJudged } from '@steeple/southbound'
import type { AmfClient } from './amf/amf-client.ts'
import type { Uncharged } from './charging/uncharged.ts'
import type { NetworkFunction } from './render/functions.ts'
import type { SmfClient } from './smf/smf-client.ts'
import { functionStates, type WatchedCore } from './steer/function-states.ts'
import { unfoundIn, type WorkWatch } from './work/work-watch.ts'

/** Brings functions back that the NRF has forgotten: nobody registers there a second time by himself. */
interface RegistryMender {
  /** Told at each look whom the NRF does not have. */
  look(missing: readonly NetworkFunction[], signal: AbortSignal): Promise<void>
  /** What came of it, for health; empty when nothing was to be done. */
  words(): string
}

/** Looks in a row that miss somebody: one that restarts is missed by one alone. */
const LOOKS = 2
/** Restarts until it is left to somebody else: what two of them do not mend a third will not. */
const MOST_RESTARTS = 2

function registryMender(context: Context, restart: CoreFiles['restart']): RegistryMender {
  const { log } = context
  let looks = 0
  let restarts = 0
  return {
    look: async (missing, signal) => {
      if (missing.length === 0) {
        looks = 0
        restarts = 0
        return
      }
      looks += 1
      if (looks < LOOKS || restarts >= MOST_RESTARTS || !context.settings.core_b.mend) return
      looks = 0
      try {
        const restarted = await restart(missing, 'the NRF does not have it any more', signal)
        if (restarted.length === 0) return
        restarts += 1
        log.warn({ functions: missing }, 'functions restarted that the NRF had forgotten')
      } catch (error) {
        signal.throwIfAborted()
        restarts += 1
        log.error({ err: error, functions: missing }, 'functions that the NRF has forgotten do not come back')
      }
    },
    words: () => (restarts < MOST_RESTARTS ? '' : `restarting them ${restarts} times did not help`),
  }
}

/** Which functions serve, and whether AMF and SMF let themselves be asked, as of the last look. */
export interface SteerHealth {
  look(signal: AbortSignal): Promise<void>
  components(): readonly ComponentHealth[]
}

interface HealthParts {
  readonly amf: AmfClient
  readonly smf: SmfClient
  readonly watched: WatchedCore
  readonly work: WorkWatch
  readonly uncharged: Uncharged
  readonly files: CoreFiles
  /** Told of each function whose state is known. */
  seen(daemon: string, isUp: boolean): void
}

type Judgement = readonly [status: ComponentHealth['status'], detail: string]

/** Longest look, ms. */
const LOOK_MS = 5_000

/** Nothing has been looked at yet: everything counts as well. */
export function steerHealth(context: Context, parts: HealthParts): SteerHealth {
  const { amf, smf, files } = parts
  const mender = registryMender(context, files.restart)
  let found: Readonly<Record<'daemons' | 'work' | 'amf' | 'smf', Judgement>> = {
    daemons: ['ok', 'not asked yet'],
    work: ['ok', 'not asked yet'],
    amf: ['ok', 'not asked yet'],
    smf: ['ok', 'not asked yet'],
  }
  return {
    look: async (signal) => {
      // Where the functions are goes by the files that are in force now.
      await files.appliedSha256().catch(() => undefined)
      const [{ daemons, work }, amfSeen, smfSeen] = await Promise.all([
        functionsSeen(parts, mender, signal),
        asked('down', 'nobody can be listed or cut off', (bound) => amf.ping(bound), signal),
        asked('degraded', 'that a session is gone cannot be confirmed', (bound) => smf.ping(bound), signal),
      ])
      found = { daemons, work, amf: amfSeen, smf: smfSeen }
      context.healthChanged()
      await mend(parts, mender, signal)
    },
    components: () =>
      Object.entries(found).map(([name, [status, detail]]) => ({
        name,
        kind: 'core',
        status,
        detail,
        // Where this node keeps the core, it is degraded with it.
        required: name !== 'smf' && context.settings.southbound.driver !== 'none',
        incident: name === 'daemons' && status === 'down' ? 'no_core' : 'core_degraded',
      })),
  }
}

/** Who answers, and who does its work. */
async function functionsSeen(
  { watched, work, seen }: HealthParts,
  mender: RegistryMender,
  signal: AbortSignal,
): Promise<Readonly<Record<'daemons' | 'work', Judgement>>> {
  const [services, problems] = await Promise.all([functionStates(watched, signal), work.problems(0, signal)])
  for (const [nf, state] of services) if (state !== 'unknown') seen(nf, state === 'up')
  const [status, words] = workJudged({ services, problems, restarted: watched.restarted() })
  const more = unfoundIn(problems).length === 0 ? '' : mender.words()
  return { daemons: daemonsIn(services), work: [status, more === '' ? words : `${words}; ${more}`] }
}

/** Has who was forgotten register again, and sessions that nobody counts begin again. */
async function mend(
  { watched, work, uncharged }: HealthParts,
  mender: RegistryMender,
  signal: AbortSignal,
): Promise<void> {
  const [services, problems] = await Promise.all([
    functionStates(watched, signal),
    work.problems(LOOK_MS, signal),
  ])
  const unfound = unfoundIn(problems)
  await mender.look(
    unfound.filter((nf) => services.get(nf) === 'up'),
    signal,
  )
  if (services.get('chf') === 'up' && !unfound.includes('chf')) await uncharged.mend(signal)
}

function daemonsIn(services: Awaited<ReturnType<typeof functionStates>>): Judgement {
  const namesOf = (wanted: string): string =>
    [...services]
      .filter(([, state]) => state === wanted)
      .map(([nf]) => nf)
      .join(', ')
  // Nobody is left out without a word.
  const [up, down, unknown] = [namesOf('up'), namesOf('down'), namesOf('unknown')]
  const rest = unknown === '' ? '' : `; not known: ${unknown}`
  if (up === '' && down === '') return ['ok', 'no function is to be found from here']
  if (down === '') return ['ok', `up: ${up}${rest}`]
  return [up === '' ? 'down' : 'degraded', `down: ${down}${rest}`]
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
    return [fault, `${lost}: ${messageOf(error)}`]
  }
}
