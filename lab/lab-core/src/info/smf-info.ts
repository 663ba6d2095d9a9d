import type { Session, Sessions } from '../smf/sessions.ts'
import type { Json } from './cjson.ts'
import type { Listing } from './page.ts'

/** `/pdu-info` of an SMF. */
export function pduInfo(sessions: Sessions): Listing<Session> {
  return { path: '/pdu-info', hasAllAtOnce: false, items: sessions.list(), show: sessionItem }
}

function sessionItem({ imsi, apn, ebi, qci, lease: { ipv4, ipv6 } }: Session): Json {
  const pdu = {
    ebi,
    apn,
    ...(ipv4 === undefined ? {} : { ipv4 }),
    ...(ipv6 === undefined ? {} : { ipv6 }),
    snssai: { sst: 0, sd: '000000' },
    qos_flows: [{ ebi, qci }],
    pdu_state: 'unknown',
    ue_location_timestamp: 0,
  }
  return { supi: `imsi-${imsi}`, pdu: [pdu], ue_activity: 'unknown' }
}
