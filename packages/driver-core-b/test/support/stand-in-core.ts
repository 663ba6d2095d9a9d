import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '@steeple/testkit'
import { nrfAnswer } from './stand-in-nrf.ts'
import { NO_ROUTE, refusal } from './stand-in-tokens.ts'

const LIST = '/namf-oam/v1/registered-ue-context'
const UNKNOWN: StandInAnswer = {
  status: 404,
  body: '{"status":404,"cause":"CONTEXT_NOT_FOUND"}',
  type: 'application/json',
}

function amfAnswer(core: StandInCore, request: StandInRequest): StandInAnswer {
  const { method, path } = request
  if (method === 'GET' && path.startsWith('/namf-oam/v1/')) {
    // gin redirects before it looks at the token.
    if (path === `${LIST}/`) return { status: 301, location: LIST }
    return refusal(core, request, 'namf-oam') ?? oamAnswer(core, path)
  }
  const [, supi] = /^\/namf-callback\/v1\/deregistration\/(.+)$/.exec(path) ?? []
  if (method !== 'POST' || supi === undefined) return NO_ROUTE
  const refused = core.behaviour.listsCallbacks ? refusal(core, request, 'namf-callback') : undefined
  return refused ?? deregister(core, supi, JSON.parse(request.body))
}

function oamAnswer({ ues }: StandInCore, path: string): StandInAnswer {
  if (path === '/namf-oam/v1/')
    return { status: 200, body: 'Hello World!', type: 'text/plain; charset=utf-8' }
  if (path === LIST) return { status: 200, body: listOf([...ues].toReversed()) }
  const [, supi = ''] = /^\/namf-oam\/v1\/registered-ue-context\/([^/]+)$/.exec(path) ?? []
  const ue = ues.get(supi)
  return ue === undefined ? UNKNOWN : { status: 200, body: listOf([[supi, ue]]) }
}

/** Nobody is `null`; so are no sessions. */
function listOf(ues: readonly (readonly [string, StandInUe])[]): string {
  const entries = ues.flatMap(([supi, { accesses }]) =>
    accesses.map(({ isConnected, sessions }) => ({
      AccessType: '3GPP_ACCESS',
      Supi: supi,
      Guti: '99970cafe0000000001',
      Mcc: '999',
      Mnc: '70',
      Tac: '000007',
      PduSessions:
        sessions.length === 0
          ? null
          : sessions
              .map(({ id, ref, dnn }) => ({
                PduSessionId: id,
                SmContextRef: ref,
                Sst: '1',
                Sd: '010203',
                Dnn: dnn,
              }))
              .toReversed(),
      CmState: isConnected ? 'CONNECTED' : 'IDLE',
    })),
  )
  return entries.length === 0 ? 'null' : JSON.stringify(entries)
}

function deregister(
  core: StandInCore,
  supi: string,
  { deregReason, accessType }: { readonly deregReason: string; readonly accessType: string },
): StandInAnswer {
  const ue = core.ues.get(supi)
  if (ue === undefined) return UNKNOWN
  const releases = deregReason === 'UE_INITIAL_REGISTRATION' && !core.behaviour.losesReleases
  // Sessions of the access that was named; the context goes as a whole.
  const [named] = accessType === '3GPP_ACCESS' ? ue.accesses : []
  if (releases) for (const { ref } of named?.sessions ?? []) core.sessions.delete(ref)
  const { comesBack } = core.behaviour
  if (comesBack === undefined) core.ues.delete(supi)
  else core.ues.set(supi, { accesses: [{ isConnected: true, sessions: comesBack }] })
  return { status: 204 }
}

/** A PDU session in the stand-in. */
export interface StandInSession {
  readonly id: string
  readonly ref: string
  readonly dnn: string
}

/** A subscriber's context at the stand-in AMF: one entry per access over which it is registered. */
export interface StandInUe {
  readonly accesses: readonly {
    readonly isConnected: boolean
    readonly sessions: readonly StandInSession[]
  }[]
}

export interface StandInAnswer {
  readonly status: number
  readonly body?: string
  readonly type?: string
  readonly location?: string
}

/** A request as the stand-in got it. */
export interface StandInRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly body: string
}

/** How the core behaves; may be changed while a test runs. */
export interface StandInBehaviour {
  oauth: boolean
  /** As releases from 4.2.3 on: callbacks are a service that wants a token. */
  listsCallbacks: boolean
  /** The SMF does not take the AMF's release; the AMF answers 204 all the same. */
  losesReleases: boolean
  /** The SMF takes no release from anybody. */
  keepsSessions: boolean
  /** The AMF has the certificate of another NRF. */
  distrustsNrf: boolean
  /** A phone comes back as soon as it is cut off, with those sessions. */
  comesBack: readonly StandInSession[] | undefined
  /** Answers instead of the function's own, by function. */
  instead: Map<'amf' | 'smf' | 'nrf', (request: StandInRequest) => StandInAnswer | 'hang' | undefined>
}

/** AMF, SMF and NRF over real HTTP, with the answers that free5GC 4.2.3 gives. */
export interface StandInCore {
  readonly urls: { readonly amf: string; readonly smf: string; readonly nrf: string }
  readonly behaviour: StandInBehaviour
  /** By SUPI. */
  readonly ues: Map<string, StandInUe>
  /** References of sessions that the SMF holds. */
  readonly sessions: Set<string>
  /** Instance id → type, as registered at the NRF. */
  readonly profiles: Map<string, string>
  /** What the NRF signs tokens with. */
  key: KeyObject
  /** Every token that was given. */
  readonly tokens: string[]
  /** What was asked, per function. */
  readonly asked: {
    readonly amf: StandInRequest[]
    readonly smf: StandInRequest[]
    readonly nrf: StandInRequest[]
  }
  /** Everything that a driver may change, as a text. */
  world(): string
  /** Makes a function unreachable. */
  stop(nf: 'amf' | 'smf' | 'nrf'): Promise<void>
  close(): Promise<void>
}

/** Each stand-in signs with the same: to make one takes a good part of a second. */
const { privateKey: KEY } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ANSWERS = { amf: amfAnswer, smf: smfAnswer, nrf: nrfAnswer }

export async function startStandInCore(): Promise<StandInCore> {
  const servers = new Map<'amf' | 'smf' | 'nrf', Server>()
  const closed = async (server: Server): Promise<void> => {
    server.closeAllConnections()
    server.close()
    if (server.listening) await once(server, 'close')
  }
  const urls = { amf: '', smf: '', nrf: '' }
  const core: StandInCore = {
    urls,
    behaviour: {
      oauth: true,
      listsCallbacks: true,
      losesReleases: false,
      keepsSessions: false,
      distrustsNrf: false,
      comesBack: undefined,
      instead: new Map(),
    },
    ues: new Map(),
    sessions: new Set(),
    profiles: new Map([['11111111-1111-4111-8111-111111111111', 'AMF']]),
    key: KEY,
    tokens: [],
    asked: { amf: [], smf: [], nrf: [] },
    world: () => JSON.stringify([[...core.ues].toSorted(), [...core.sessions].toSorted()]),
    stop: async (nf) => {
      const server = servers.get(nf)
      if (server !== undefined) await closed(server)
    },
    close: async () => {
      for (const server of servers.values()) await closed(server)
    },
  }
  for (const type of ['UDR', 'UDM', 'AUSF', 'NSSF', 'PCF', 'CHF', 'SMF']) comeUp(core, type)
  for (const nf of ['amf', 'smf', 'nrf'] as const) {
    const server = createServer((request, response) => {
      serve(core, nf, request, response).catch(() => response.destroy())
    })
    urls[nf] = (await listen(server)).url
    servers.set(nf, server)
  }
  return core
}

/** A function has started: the NRF ends without its profiles, and each other one registers under another id. */
export function comeUp({ profiles }: StandInCore, type: string): void {
  if (type === 'NRF') profiles.clear()
  else if (type !== 'UPF') profiles.set(randomUUID(), type)
}

async function serve(
  core: StandInCore,
  nf: 'amf' | 'smf' | 'nrf',
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const got: StandInRequest = {
    method: request.method ?? '',
    path: request.url ?? '',
    authorization: request.headers.authorization,
    body: await text(request),
  }
  core.asked[nf].push(got)
  const answer = core.behaviour.instead.get(nf)?.(got) ?? ANSWERS[nf](core, got)
  if (answer === 'hang') return
  const { status, body = '', type = 'application/json; charset=utf-8', location } = answer
  response.writeHead(status, {
    'content-type': type,
    'access-control-allow-origin': '*',
    ...(location === undefined ? {} : { location }),
  })
  response.end(body)
}

function smfAnswer(core: StandInCore, request: StandInRequest): StandInAnswer {
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
