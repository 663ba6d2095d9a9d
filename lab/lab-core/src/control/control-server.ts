import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { CardsError } from '../phones/cards.ts'
import { control } from './control-routes.ts'
import { ControlError, type ControlPlace } from './place.ts'

const BODY_MAX = 8 * 1024 * 1024
/** 127.0.0.0/8, ::1 and their name, with any port. */
const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d{1,5})?$/

/** What `GET /` says. */
const GUIDE = `The phones of a Steeple lab core.
  GET    /phones                       all phones: state, address, octets of the session
  POST   /phones                       put cards into phones (what svc sim export BATCH --format json prints), switch on
  GET    /phones/PHONE                 one phone; PHONE is the SIM's imsi_sha256_12, or all
  POST   /phones/PHONE/attach          also: detach, idle, service-request, power-on, power-off
  POST   /phones/PHONE/data            {"up_bytes": N, "down_bytes": N}: move octets of IP packets through the tunnel;
                                       "kbps": R each way, or as fast as it goes; "interface": "s1u" or "n3"
  POST   /phones/PHONE/traffic         {"up_kbps": R, "down_kbps": R}: whenever it is attached, until 0 and 0
  DELETE /phones/PHONE                 take it away
  GET    /esims                        eUICCs of the lab and the profiles on them
  POST   /esims                        {"activation_code": "LPA:1$…", "confirmation_code": C, "curve": "P-256", "euicc": LAST4,
                                       "server": URL}: a phone downloads an eSIM and attaches with it
  POST   /esims/PHONE/disable          also: enable, delete; the SM-DP+ is told
  GET    /gtpu                         where the tunnels run, and frames sent, arrived and lost
  GET    /radio                        POST /radio/down and /radio/up: the eNB goes and comes
`

/** The control API: for programs of this machine alone, never for a page that a browser shows. */
export function controlServer(place: ControlPlace): Server {
  return createServer((request, response) => {
    void answer(request, response, place)
  })
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  place: ControlPlace,
): Promise<void> {
  try {
    const { method = 'GET', url = '/', headers } = request
    refuseStrangers(headers.host, headers.origin, headers['sec-fetch-site'])
    const [path = '/', query = ''] = url.split('?', 2)
    const body = await bodyOf(request)
    if (path === '/' && method === 'GET') return send(response, 200, 'text/plain', GUIDE)
    const { status, body: shown } = await control(
      { method, path, query: new URLSearchParams(query), body },
      place,
    )
    send(response, status, 'application/json', `${JSON.stringify(shown)}\n`)
  } catch (error) {
    const { status, message } = problemOf(error)
    send(response, status, 'application/json', `${JSON.stringify({ error: message })}\n`)
  }
}

/** A page of another origin, or a name that was made to point here, could otherwise use the browser of this machine. */
function refuseStrangers(host: string | undefined, origin: string | undefined, site: unknown): void {
  if (host === undefined || !LOOPBACK.test(host))
    throw new ControlError('only for this machine', { status: 403 })
  const isForeign = origin !== undefined && origin !== `http://${host}`
  if (isForeign || site === 'cross-site' || site === 'same-site')
    throw new ControlError('not for pages of another origin', { status: 403 })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    const bytes = part as Buffer // a request without an encoding gives buffers
    parts.push(bytes)
    size += bytes.length
    if (size > BODY_MAX) throw new ControlError('the body is too large', { status: 413 })
  }
  return Buffer.concat(parts).toString('utf8')
}

function problemOf(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof ControlError) return error
  if (error instanceof CardsError) return { status: 400, message: error.message }
  return { status: 500, message: 'the lab core failed' }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
  response.end(body)
}
