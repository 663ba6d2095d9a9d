import { containersOf, type DoctorPart } from '../doctor-part.ts'

/** The containers of its daemons. */
export const part: DoctorPart = {
  of: 'driver-core-a',
  containers: (settings) => containersOf(settings, 'core_a'),
}
