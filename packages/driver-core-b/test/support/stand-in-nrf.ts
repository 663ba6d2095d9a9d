import type { StandInAnswer, StandInCore, StandInRequest } from './stand-in-core.ts'
import { NO_ROUTE, refusal, signToken } from './stand-in-tokens.ts'

const SCOPES: Readonly<Record<string, readonly string[]>> = {
  AMF: ['namf-comm', 'namf-oam', 'namf-callback'],
  SMF: ['nsmf-pdusession', 'nsmf-oam'],
  NRF: ['nnrf-nfm', 'nnrf-disc'],
}

export function nrfAnswer(core: StandInCore, request: StandInRequest): StandInAnswer {
  const { method, path, body } = request
  if (method === 'POST' && path === '/oauth2/token') return tokenAnswer(core, new URLSearchParams(body))
  if (method === 'GET' && path.startsWith('/nnrf-disc/v1/nf-instances?')) return discovered(core, request)
  const [, id] = /^\/nnrf-nfm\/v1\/nf-instances\/([0-9a-f-]{36})$/.exec(path) ?? []
  if (id === undefined) return NO_ROUTE
  if (method === 'DELETE') {
    const refused = refusal(core, request, 'nnrf-nfm')
    if (refused !== undefined) return refused
    core.profiles.delete(id)
    return { status: 204 }
  }
  if (method !== 'PUT') return NO_ROUTE
  const profile = JSON.parse(body)
  const isKnown = core.profiles.has(id)
  core.profiles.set(id, profile.nfType)
  const answer = JSON.stringify({ ...profile, customInfo: { oauth2: core.behaviour.oauth } })
  return isKnown ? { status: 200, body: answer } : { status: 201, body: answer, location: path }
}

/** Whoever is registered; `null` for nobody, as its library writes an empty list. */
function discovered(core: StandInCore, request: StandInRequest): StandInAnswer {
  const refused = refusal(core, request, 'nnrf-disc')
  if (refused !== undefined) return refused
  const asked = new URL(request.path, 'http://nrf').searchParams
  const [target, requester] = [asked.get('target-nf-type'), asked.get('requester-nf-type')]
  if (target === null || requester === null) return { status: 400, body: '{"status":400}' }
  const found = [...core.profiles].filter(([, type]) => type === target)
  const nfInstances = found.map(([nfInstanceId, nfType]) => ({
    nfInstanceId,
    nfType,
    nfStatus: 'REGISTERED',
  }))
  const body = { validityPeriod: 100, nfInstances: nfInstances.length === 0 ? null : nfInstances }
  return { status: 200, body: JSON.stringify(body) }
}

function tokenAnswer(core: StandInCore, form: URLSearchParams): StandInAnswer {
  if (form.get('grant_type') !== 'client_credentials') return failed('unsupported_grant_type')
  const id = form.get('nfInstanceId') ?? ''
  const target = form.get('targetNfType') ?? ''
  const scope = form.get('scope') ?? ''
  if (core.profiles.get(id) !== form.get('nfType')) return failed('invalid_client')
  if (target !== 'NRF' && ![...core.profiles.values()].includes(target)) return failed('invalid_client')
  const isUnlisted = scope === 'namf-callback' && !core.behaviour.listsCallbacks
  if (isUnlisted || SCOPES[target]?.includes(scope) !== true) return failed('invalid_scope')
  const access_token = signToken(core, id, scope)
  return {
    status: 200,
    body: JSON.stringify({ access_token, token_type: 'Bearer', expires_in: 1000, scope }),
  }
}

function failed(error: string): StandInAnswer {
  return { status: 400, body: JSON.stringify({ error }) }
}
