const PLACE = { servingNetwork: { mcc: '999', mnc: '05' }, servingPlmn: { mcc: '999', mnc: '05' } }
const NOTIFY = 'http://127.0.0.18:8000/nobody'

/** What the PCF says to a policy that is asked for. */
export interface PolicyAnswer {
  readonly status: number
  readonly body: {
    readonly cause?: string
    readonly chgDecs?: Readonly<Record<string, { readonly offline?: boolean; readonly ratingGroup?: number }>>
  }
}

async function post(url: string, body: object): Promise<PolicyAnswer> {
  const answered = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answered.text()
  return { status: answered.status, body: text.startsWith('{') ? JSON.parse(text) : {} }
}

/** Asks the PCF as the AMF does at a registration. */
export function askRegistration(pcfUrl: string, imsi: string): Promise<PolicyAnswer> {
  return post(`${pcfUrl}/npcf-am-policy-control/v1/policies`, {
    supi: `imsi-${imsi}`,
    notificationUri: NOTIFY,
    accessType: '3GPP_ACCESS',
    servingPlmn: PLACE.servingPlmn,
    suppFeat: '1',
    guami: { plmnId: PLACE.servingPlmn, amfId: 'cafe00' },
  })
}

/** Asks the PCF as the SMF does for a session. */
export function askSession(
  pcfUrl: string,
  imsi: string,
  session: { readonly id: number; readonly dnn: string },
): Promise<PolicyAnswer> {
  const ambr = { uplink: '5 Mbps', downlink: '20 Mbps' }
  return post(`${pcfUrl}/npcf-smpolicycontrol/v1/sm-policies`, {
    supi: `imsi-${imsi}`,
    pduSessionId: session.id,
    pduSessionType: 'IPV4',
    dnn: session.dnn,
    notificationUri: NOTIFY,
    accessType: '3GPP_ACCESS',
    ratType: 'NR',
    servingNetwork: PLACE.servingNetwork,
    subsSessAmbr: ambr,
    subsDefQos: {
      '5qi': 9,
      arp: { priorityLevel: 8, preemptCap: 'NOT_PREEMPT', preemptVuln: 'PREEMPTABLE' },
      priorityLevel: 8,
    },
    sliceInfo: { sst: 1, sd: '010203' },
  })
}
