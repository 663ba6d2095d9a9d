import type { StandInAnswer, StandInCore, StandInRequest, StandInUe } from './stand-in-core.ts'
import { NO_ROUTE, refusal } from './stand-in-tokens.ts'

const LIST = '/namf-oam/v1/registered-ue-context'
const UNKNOWN: StandInAnswer = {
  status: 404,
  body: '{"status":404,"cause":"CONTEXT_NOT_FOUND"}',
  type: 'application/json',
}

/** What the AMF answers. */
export function amfAnswer(core: StandInCore, request: StandInRequest): StandInAnswer {
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
