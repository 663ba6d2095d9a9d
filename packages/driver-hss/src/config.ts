import type { Look, Settings } from '@steeple/contracts'
import type { WriteBackDriver } from './driver.ts'
import type { OtherCore } from './sources/api.ts'

/** `hss.*` of the configuration. */
export type HssConfig = Settings['hss'] &
  OtherCore & {
    readonly container: string
    readonly dbctl_path: string
  }

export function hssOf({ hss }: Pick<Settings, 'hss'>): HssConfig {
  return hss as HssConfig // checked by the schema of this package
}

/** A driver that `hss.driver` names: what its folder adds to the list of `drivers.ts`. */
export interface DriverKind {
  /** Opens nothing yet. PLMN and slices are read at each call, since they change without a reload. */
  make(settings: () => Settings): WriteBackDriver
  /** What the doctor looks at. */
  looks(hss: HssConfig): readonly Look[]
}

/** Of a core that nothing is known of: what the drivers of cores have where nothing is said. */
export const STOCK_SLICES: Settings['core_a']['slices'] = [{ sst: 1 }]
