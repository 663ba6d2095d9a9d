import type { ChargingRun, Engine } from '@steeple/southbound'
import type { Caller } from '../sbi/caller.ts'
import { instancesOf } from '../work/registry.ts'

/** Where the CHF is looked for. */
export interface ChargingParts {
  readonly engine: Engine
  readonly caller: Caller
  nrfUrl(): string
  hasCharging(): boolean
  /** Function → container, of those that the service may look at. */
  containers(): Readonly<Record<string, string>>
}

/**
 * Which run of the CHF there is: by the start of its container, else by the id under which it has registered, which is
 * another one after each start unless its file fixes it. Throws `southbound_unavailable`.
 */
export async function chargingRun(
  { engine, caller, nrfUrl, hasCharging, containers }: ChargingParts,
  signal: AbortSignal,
): Promise<ChargingRun | undefined> {
  if (!hasCharging()) return undefined
  const { chf, smf } = containers()
  if (chf !== undefined) {
    const [own, sessions] = await Promise.all([
      engine.inspect(chf, signal),
      smf === undefined ? undefined : engine.inspect(smf, signal),
    ])
    const startedAtMs = own?.isRunning === true ? own.startedAtMs : undefined
    const isOlderThanSessions = startedAtMs !== undefined && (sessions?.startedAtMs ?? 0) > startedAtMs
    return { run: startedAtMs === undefined ? undefined : String(startedAtMs), isOlderThanSessions }
  }
  const { status, ids } = await instancesOf(caller, nrfUrl, 'chf', signal)
  if (status !== 200) return undefined
  return { run: ids.length === 0 ? undefined : ids.toSorted().join(','), isOlderThanSessions: false }
}
