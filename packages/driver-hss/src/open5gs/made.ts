import type { Ambr, FoundSlice } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { FoundParts } from '../found-parts.ts'
import type { Doc } from '../links/document-link.ts'
import { encodeAmbr, SESSIONS_MAX, SLICES_MAX } from './ambr.ts'
import { commonFields, freshQos, freshSession, sliceHead } from './document.ts'

/** The document with which Open5GS holds what another core held of a subscriber. What stops its HSS is left out. */
export function madeDoc({ slices, ambrBps, msisdn, amf }: FoundParts, otherwise: Ambr): Doc {
  const ambr = ambrBps ?? otherwise
  return {
    ...commonFields(),
    msisdn: msisdn === undefined ? [] : [msisdn],
    ambr: encodeAmbr(ambr),
    security: { amf: amf ?? '8000' },
    slice: slices.slice(0, SLICES_MAX).map((slice, at) => madeSlice(slice, at === 0, ambr)),
  }
}

function madeSlice({ sst, sd, isDefault, apns }: FoundSlice, isFirst: boolean, ambr: Ambr): Doc {
  return {
    ...sliceHead({ sst, sd }, isDefault || isFirst),
    session: apns.slice(0, SESSIONS_MAX).map(({ name, ambrBps, qos, addresses }) => {
      const [ipv4] = addresses.filter((one) => !one.includes(':'))
      const [ipv6] = addresses.filter((one) => one.includes(':'))
      const ue = { ...(ipv4 === undefined ? {} : { ipv4 }), ...(ipv6 === undefined ? {} : { ipv6 }) }
      return {
        ...freshSession(name, encodeAmbr(ambrBps ?? ambr)),
        ...(qos === undefined ? {} : { qos: { ...freshQos(), index: new Int32(qos) } }),
        ...(Object.keys(ue).length === 0 ? {} : { ue }),
      }
    }),
  }
}
