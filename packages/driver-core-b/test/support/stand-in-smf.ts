import type { StandInAnswer, StandInCore, StandInRequest } from './stand-in-core.ts'
import { NO_ROUTE, refusal } from './stand-in-tokens.ts'

/** What the SMF answers. */
export function smfAnswer(core: StandInCore, request: StandInRequest): StandInAnswer {
  const { method, path } = request
  const [, released] = /^\/nsmf-pdusession\/v1\/sm-contexts\/([^/]+)\/release$/.exec(path) ?? []
  if (method === 'POST' && released !== undefined) {
    const refused = refusal(core, request, 'nsmf-pdusession')
    if (refused !== undefined) return refused
    if (!core.behaviour.keepsSessions) core.sessions.delete(released)
    return { status: 204 }
  }
  if (method !== 'GET' || !path.startsWith('/nsmf-oam/v1/')) return NO_ROUTE
  const refused = refusal(core, request, 'nsmf-oam')
  if (refused !== undefined) return refused
  if (path === '/nsmf-oam/v1/') return { status: 200, body: '{"status":"Service Available"}' }
  const [, ref = ''] = /^\/nsmf-oam\/v1\/ue-pdu-session-info\/([^/]+)$/.exec(path) ?? []
  if (!core.sessions.has(ref)) return { status: 404, body: 'null' }
  return {
    status: 200,
    body: '{"Supi":"imsi-999700000000001","PDUSessionID":"1","Dnn":"internet","Sst":"1","Sd":"010203","AnType":"3GPP_ACCESS","PDUAddress":"10.60.0.1","SessionRule":{"sessRuleId":""},"UpCnxState":"ACTIVATED","Tunnel":{"PathIDGenerator":null,"DataPathPool":null,"ANInformation":{"IPAddress":"","TEID":0}}}',
  }
}
