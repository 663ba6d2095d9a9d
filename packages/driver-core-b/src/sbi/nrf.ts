import { type Clock, southboundUnavailable } from '@steeple/contracts'
import type { HttpAnswer } from '@steeple/http-client'
import type { HttpClient } from './http-client.ts'
import { fieldOf, parseJson } from './json.ts'

/** Who a token is for, and for which of its services. */
export interface TokenTarget {
  readonly nfType: 'AMF' | 'SMF' | 'NRF'
  readonly scope: string
}

/**
 * The application function that this driver is to the NRF. Always the same, so that no profiles pile up; nodes that
 * share an NRF share it.
 */
const OWN_ID = '8f0d3c7e-52b1-4a6e-9c84-5d2f6b7a1e90'
/** A token is renewed when less than this is left of it, ms. */
const SPARE_MS = 60_000

/** A token, and until when it is used. `untilMs`: monotonic. */
export interface Held {
  readonly token: string
  readonly untilMs: number
}

/** What the NRF answered: a token, or the name of its error. */
export type Grant = { readonly held: Held } | { readonly error: string }

/** What this driver asks of the NRF. Each throws `southbound_unavailable` when it does not answer. */
export interface Nrf {
  register(signal: AbortSignal): Promise<void>
  request(target: TokenTarget, signal: AbortSignal): Promise<Grant>
  /** Takes the profile off. */
  deregister(token: string | undefined, signal: AbortSignal): Promise<void>
}

/** The NRF at `nrfUrl`, a base URL without a slash at the end. */
export function nrfAt(http: HttpClient, clock: Clock, nrfUrl: () => string): Nrf {
  const profileUrl = (): string => `${nrfUrl()}/nnrf-nfm/v1/nf-instances/${OWN_ID}`
  return {
    register: async (signal) => {
      const profile = {
        nfInstanceId: OWN_ID,
        nfType: 'AF',
        nfStatus: 'REGISTERED',
        ipv4Addresses: ['127.0.0.1'],
      }
      const body = { type: 'application/json', text: JSON.stringify(profile) }
      const answer = await http.call({ method: 'PUT', url: profileUrl(), peer: 'NRF', body }, signal)
      if (answer.status !== 200 && answer.status !== 201)
        throw southboundUnavailable(`the NRF does not take this node in: it answers ${answer.status}`)
    },
    request: async ({ nfType, scope }, signal) => {
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        nfInstanceId: OWN_ID,
        nfType: 'AF',
        targetNfType: nfType,
        scope,
      })
      const body = { type: 'application/x-www-form-urlencoded', text: form.toString() }
      const url = `${nrfUrl()}/oauth2/token`
      const answer = await http.call({ method: 'POST', url, peer: 'NRF', body }, signal)
      return grantOf(answer, clock.monotonicMs())
    },
    deregister: async (token, signal) => {
      await http.call({ method: 'DELETE', url: profileUrl(), peer: 'NRF', token }, signal)
    },
  }
}

/** `nowMs`: monotonic. */
function grantOf({ status, text }: HttpAnswer, nowMs: number): Grant {
  const answer = parseJson(text)
  const token = fieldOf(answer, 'access_token')
  if (status === 200 && typeof token === 'string' && /^[A-Za-z0-9._~+/=-]{1,8192}$/.test(token)) {
    const seconds = Number(fieldOf(answer, 'expires_in'))
    const lifeMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0
    return { held: { token, untilMs: nowMs + Math.max(lifeMs / 2, lifeMs - SPARE_MS) } }
  }
  const error = fieldOf(answer, 'error')
  const isKnown = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error)
  return { error: isKnown ? error : `status ${status}` }
}
