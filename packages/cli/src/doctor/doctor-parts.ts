import { basename } from 'node:path'
import type { DoctorPart } from './doctor-part.ts'
import { part as collectorCdr } from './parts/collector-cdr.ts'
import { part as collectorGtpu } from './parts/collector-gtpu.ts'
import { part as collectorMme } from './parts/collector-mme.ts'
import { part as driverCoreA } from './parts/driver-core-a.ts'
import { part as driverCoreB } from './parts/driver-core-b.ts'
import { part as driverHss } from './parts/driver-hss.ts'
import { part as driverRan } from './parts/driver-ran.ts'
import { part as mesh } from './parts/mesh.ts'

/** In the order in which people read what they find. */
const PARTS: readonly DoctorPart[] = [
  driverHss,
  driverCoreA,
  driverCoreB,
  driverRan,
  collectorMme,
  collectorCdr,
  collectorGtpu,
  mesh,
]

/** What the doctor looks at for the plugins of this build, by their folders. */
export function doctorParts(packages: readonly string[]): readonly DoctorPart[] {
  const names = new Set(packages.map((folder) => basename(folder)))
  return PARTS.filter(({ of }) => of !== undefined && names.has(of))
}
