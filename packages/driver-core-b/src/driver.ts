import type { CoreDriver, Imsi, ObservedUe } from '@steeple/contracts'
import type { CoreFiles, Registration, SharedList } from '@steeple/southbound'
import { functionStates, type WatchedCore } from './steer/function-states.ts'
import type { WorkWatch } from './work/work-watch.ts'

/** What the driver stands on. */
export interface DriverParts {
  readonly list: SharedList
  readonly kick: CoreDriver['kick']
  readonly diagnose: NonNullable<CoreDriver['diagnose']>
  readonly attaches: NonNullable<CoreDriver['attaches']>
  readonly watched: WatchedCore
  readonly work: WorkWatch
  readonly files: Pick<CoreFiles, 'plan' | 'apply' | 'appliedSha256' | 'takeOver' | 'restoreOriginal'>
  readonly render: CoreDriver['render']
  readonly pools: () => Promise<readonly string[]>
}

/** What functions lack is looked at with health; a look so old counts for who asks for the state of the core, ms. */
const WORK_AGE_MS = 5_000

/** The driver of a free5GC core. Of what it reads of a subscriber, only references of sessions outlive the call. */
export function createDriver({
  list,
  kick,
  diagnose,
  attaches,
  watched,
  work,
  files,
  render,
  pools,
}: DriverParts): CoreDriver {
  const ues = async (signal: AbortSignal): Promise<readonly ObservedUe[]> =>
    uesFrom((await list.recent(0, signal)).registrations)
  const attached = async (signal: AbortSignal): Promise<number | undefined> => {
    try {
      return (await ues(signal)).length
    } catch {
      signal.throwIfAborted()
      return undefined
    }
  }
  return {
    render,
    pools,
    ues,
    kick,
    diagnose,
    attaches,
    plan: files.plan,
    apply: files.apply,
    takeOver: files.takeOver,
    restoreOriginal: files.restoreOriginal,
    observe: async (signal) => {
      signal.throwIfAborted()
      const [configSha256, services, problems, attachedUes] = await Promise.all([
        files.appliedSha256().catch(() => undefined),
        functionStates(watched, signal),
        work.problems(WORK_AGE_MS, signal),
        attached(signal),
      ])
      // No interface of free5GC lists the gNBs.
      return { configSha256, services, problems, radios: undefined, attachedUes }
    },
  }
}

/** The phones in a list of registrations: one per subscriber, however many accesses it has. */
export function uesFrom(registrations: readonly Registration[]): readonly ObservedUe[] {
  const byImsi = new Map<Imsi, Registration[]>()
  for (const one of registrations) {
    const known = byImsi.get(one.imsi)
    if (known === undefined) byImsi.set(one.imsi, [one])
    else known.push(one)
  }
  return [...byImsi].map(([imsi, all]) => ({
    imsi,
    isRegistered: true,
    apns: [...new Set(all.flatMap(({ sessions }) => sessions.map(({ dnn }) => dnn)))]
      .filter((dnn) => dnn !== '')
      .toSorted(),
    isConnected: all.some(({ isConnected }) => isConnected),
  }))
}
