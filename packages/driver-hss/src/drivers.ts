import type { BatchResult, Imsi, Settings } from '@steeple/contracts'
import type { DriverKind } from './config.ts'
import { dbctl } from './dbctl/dbctl-driver.ts'
import type { WriteBackDriver } from './driver.ts'
import { coreB } from './free5gc/free5gc-driver.ts'
import { linkLooks } from './links/links.ts'
import { docdbShell } from './open5gs/open5gs-driver.ts'

/** `hss.driver: none`: nobody is told anything, and nothing is seen. */
export function noneDriver(): WriteBackDriver {
  const nothing = async (imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult> => {
    signal.throwIfAborted()
    return new Map(imsis.map((imsi) => [imsi, undefined]))
  }
  return {
    name: 'none',
    pace: { everyMs: 15_000, awayMs: 3_000 },
    observe: async (_imsis, signal) => {
      signal.throwIfAborted()
      return new Map()
    },
    upsert: async (all, signal) =>
      await nothing(
        all.map(({ imsi }) => imsi),
        signal,
      ),
    remove: nothing,
    setBlocked: (imsis, _isBlocked, signal) => nothing(imsis, signal),
    probe: async () => ({ isOk: true, detail: 'hss.driver is none: SIMs are not written anywhere' }),
    sweep: async () => undefined,
    close: async () => undefined,
  }
}

/** By the names that the manifest lists in `selected_by`. */
export const DRIVERS: Readonly<Record<string, DriverKind>> = {
  docdb_shell: docdbShell,
  dbctl,
  core_b: coreB,
  none: { make: noneDriver, looks: (hss) => (hss.mongo_url === '' ? [] : linkLooks(hss)) },
}

/** The driver that the settings name. The registry has loaded this plugin for a name of the manifest. */
export function driverOf({ hss }: Pick<Settings, 'hss'>): DriverKind {
  const kind = DRIVERS[hss.driver]
  if (kind === undefined) throw new TypeError(`no driver ${hss.driver}`)
  return kind
}
