import { type Clock, jsonIn, southboundUnavailable, untilAborted } from '@steeple/contracts'
import type { HttpAnswer } from '@steeple/http-client'
import { fieldOf, type HttpClient } from './http-client.ts'

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
interface Held {
  readonly token: string
  readonly untilMs: number
}

/** What the NRF answered: a token, or the name of its error. */
type Grant = { readonly held: Held } | { readonly error: string }

/** The NRF at `nrfUrl`, a base URL without a slash at the end. */
function nrfAt(http: HttpClient, clock: Clock, nrfUrl: () => string) {
  const profileUrl = (): string => `${nrfUrl()}/nnrf-nfm/v1/nf-instances/${OWN_ID}`
  return {
    register: async (signal: AbortSignal): Promise<void> => {
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
    request: async ({ nfType, scope }: TokenTarget, signal: AbortSignal): Promise<Grant> => {
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
    /** Takes the profile off. */
    deregister: async (token: string | undefined, signal: AbortSignal): Promise<void> => {
      await http.call({ method: 'DELETE', url: profileUrl(), peer: 'NRF', token }, signal)
    },
  }
}

/** `nowMs`: monotonic. */
function grantOf({ status, text }: HttpAnswer, nowMs: number): Grant {
  const answer = jsonIn(text)
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

/** Access tokens of the NRF. They are as good as a login to the core: never logged, never in an error. */
export interface TokenSource {
  /** A token that is valid for a while yet; `undefined` when the target offers no such service. */
  token(target: TokenTarget, signal: AbortSignal): Promise<string | undefined>
  /** Forgets the token: the target does not take it. */
  drop(target: TokenTarget): void
  /** Takes this driver's profile off the NRF, if it put one there. Never throws. */
  leave(signal: AbortSignal): Promise<void>
}

interface TokenParts {
  readonly http: HttpClient
  readonly clock: Clock
  /** Base URL without a slash at the end. */
  nrfUrl(): string
  requested(result: 'ok' | 'failed'): void
}

/** Registers with the NRF when a token is first asked for. Opens nothing before. */
export function createTokenSource(parts: TokenParts): TokenSource {
  const { http, clock, nrfUrl } = parts
  const nrf = nrfAt(http, clock, nrfUrl)
  const held = new Map<string, Held>()
  const asking = new Map<string, Promise<string | undefined>>()
  let isRegistered = false

  const register = async (signal: AbortSignal): Promise<void> => {
    await nrf.register(signal)
    isRegistered = true
  }

  const fetchToken = async (target: TokenTarget, signal: AbortSignal): Promise<string | undefined> => {
    if (!isRegistered) await register(signal)
    let grant = await nrf.request(target, signal)
    if ('error' in grant && grant.error === 'invalid_client') {
      // A restarted NRF has forgotten everybody.
      await register(signal)
      grant = await nrf.request(target, signal)
    }
    if ('held' in grant) {
      held.set(keyOf(target), grant.held)
      return grant.held.token
    }
    if (grant.error === 'invalid_scope') return undefined
    throw southboundUnavailable(refusalOf(grant.error, target))
  }

  return {
    token: async (target, signal) => {
      const key = keyOf(target)
      const known = held.get(key)
      if (known !== undefined && known.untilMs > clock.monotonicMs()) return known.token
      const running = asking.get(key) ?? fetchToken(target, AbortSignal.timeout(LIMIT_MS))
      asking.set(key, running)
      try {
        const token = await untilAborted(running, signal)
        parts.requested('ok')
        return token
      } catch (error) {
        signal.throwIfAborted()
        parts.requested('failed')
        throw error
      } finally {
        if (asking.get(key) === running) asking.delete(key)
      }
    },
    drop: (target) => {
      held.delete(keyOf(target))
    },
    leave: async (signal) => {
      if (!isRegistered) return
      isRegistered = false
      try {
        const target: TokenTarget = { nfType: 'NRF', scope: 'nnrf-nfm' }
        const grant = await nrf.request(target, signal)
        const token = 'held' in grant ? grant.held.token : undefined
        await nrf.deregister(token, signal)
      } catch {
        // It is going down too, or gone; a profile that stays harms nobody.
      }
      held.clear()
    },
  }
}

/** Longest way to a token: registration and request, both twice, ms. */
const LIMIT_MS = 20_000

function keyOf({ nfType, scope }: TokenTarget): string {
  return `${nfType} ${scope}`
}

function refusalOf(error: string, { nfType }: TokenTarget): string {
  if (error !== 'invalid_client') return `the NRF gives no token: ${error}`
  return (
    `the NRF gives no token (invalid_client): no ${nfType} is registered with it, or its cert folder has no af.pem or ` +
    'cannot be written'
  )
}
