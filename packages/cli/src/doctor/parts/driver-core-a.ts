import { containersOf, type DoctorPart, httpNeighbours } from '../doctor-part.ts'

/** The containers of its daemons, and those of their pages that have a place of their own. */
export const part: DoctorPart = {
  of: 'driver-core-a',
  containers: (settings) => containersOf(settings, 'core_a'),
  neighbours: ({ core, core_a }) => {
    const { mme_url: mme, smf_url: smf, amf_url: amf } = core_a
    return core === 'core_a' ? httpNeighbours({ mme, smf, amf }, 'core_a') : []
  },
}
