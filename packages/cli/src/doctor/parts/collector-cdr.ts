import { checkCharging } from '../check-charging.ts'
import type { DoctorPart } from '../doctor-part.ts'

/** The charging records of a core. */
export const part: DoctorPart = {
  of: 'collector-cdr',
  checks: checkCharging,
}
