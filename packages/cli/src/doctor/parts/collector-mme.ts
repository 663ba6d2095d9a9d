import { sectionOf } from '@steeple/contracts'
import { type DoctorPart, httpNeighbours } from '../doctor-part.ts'

/** The pages of the daemons that it reads, but for those of which the core's driver says where they are. */
export const part: DoctorPart = {
  of: 'collector-mme',
  neighbours: (settings) => {
    const { collector, core } = settings
    if (!collector.enabled || core !== 'core_a') return []
    const told = sectionOf(settings, 'core_a')
    const own = (key: 'mme_url' | 'smf_url' | 'amf_url'): string => (told[key] ? '' : collector[key])
    return httpNeighbours({ mme: own('mme_url'), smf: own('smf_url'), amf: own('amf_url') }, 'collector')
  },
}
