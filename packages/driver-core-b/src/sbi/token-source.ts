import { type Clock, southboundUnavailable, untilAborted } from '@steeple/contracts'
import type { HttpClient } from './http-client.ts'
import { type Held, nrfAt, type TokenTarget } from './nrf.ts'

/** Access tokens of the NRF. They are as good as a login to the core: never logged, never in an error. */
export interface TokenSource {
  /** A token that is valid for a while yet; `undefined` when the target offers no such service. */
  token(target: TokenTarget, signal: AbortSignal): Promise<string | undefined>
  /** Forgets the token: the target does not take it. */
  drop(target: TokenTarget): void
  /** Takes this driver's profile off the NRF, if it put one there. Never throws. */
  leave(signal: AbortSignal): Promise<void>
}

/** What a source works with. */
export interface TokenParts {
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
