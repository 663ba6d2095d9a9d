import { containersOf, type DoctorPart, httpNeighbour } from '../doctor-part.ts'

/** The containers of its daemons, and the pages that they answer on. */
export const part: DoctorPart = {
  of: 'driver-core-b',
  containers: (settings) => containersOf(settings, 'core_b'),
  neighbours: ({ core, core_b }) => {
    if (core !== 'core_b') return []
    const { amf_oam_url: amf, smf_oam_url: smf } = core_b
    return [
      httpNeighbour('amf', amf, 'core_b.amf_oam_url'),
      ...(smf === '' ? [] : [httpNeighbour('smf', smf, 'core_b.smf_oam_url')]),
    ]
  },
}
