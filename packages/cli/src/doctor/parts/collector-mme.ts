import { type DoctorPart, httpNeighbour } from '../doctor-part.ts'

/** The pages of the daemons that it reads. */
export const part: DoctorPart = {
  of: 'collector-mme',
  neighbours: ({ collector, core }) => {
    if (!collector.enabled || core !== 'core_a') return []
    const daemons = { mme: collector.mme_url, smf: collector.smf_url, amf: collector.amf_url }
    return Object.entries(daemons).flatMap(([daemon, url]) =>
      url === '' ? [] : [httpNeighbour(daemon, url, `collector.${daemon}_url`)],
    )
  },
}
