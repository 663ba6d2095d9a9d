import { messageOf, southboundUnavailable } from '@steeple/contracts'
import type { HttpAnswer } from '@steeple/http-client'
import type { HttpCall, HttpClient } from './http-client.ts'
import type { TokenSource, TokenTarget } from './token-source.ts'

/** A service of a network function. */
export interface Service extends TokenTarget {
  /** Base URL without a slash at the end. */
  url(): string
  /** Where the operator lists the service: `amfcfg.yaml`. */
  readonly file: string
}

interface ServiceCall {
  readonly method: HttpCall['method']
  /** Begins with a slash. */
  readonly path: string
  readonly json?: unknown
}

/** Calls services with a token where one is asked for. */
export interface Caller {
  /** Any answer but 401. Throws `southbound_unavailable` with what to do, or the signal's reason. */
  call(service: Service, call: ServiceCall, signal: AbortSignal): Promise<HttpAnswer>
}

const UNAUTHORIZED = 401

/**
 * Whether a core wants tokens is found out by asking without one; that stays so until none can be had any more.
 */
export function createCaller(http: HttpClient, tokens: TokenSource): Caller {
  const wanting = new Set<string>()

  const send = (
    service: Service,
    { method, path, json }: ServiceCall,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<HttpAnswer> => {
    const body = json === undefined ? undefined : { type: 'application/json', text: JSON.stringify(json) }
    return http.call({ method, url: `${service.url()}${path}`, peer: service.nfType, token, body }, signal)
  }

  const tokenFor = async (service: Service, signal: AbortSignal): Promise<string | undefined> => {
    try {
      return await tokens.token(service, signal)
    } catch (error) {
      signal.throwIfAborted()
      // The core may have given tokens up meanwhile.
      wanting.delete(keyOf(service))
      throw southboundUnavailable(
        `the ${service.nfType} asks for a token (OAuth2 is on) and there is none: ${messageOf(error)}; see core_b.nrf_url`,
        { cause: error },
      )
    }
  }

  return {
    call: async (service, call, signal) => {
      const key = keyOf(service)
      let token = wanting.has(key) ? await tokenFor(service, signal) : undefined
      let answer = await send(service, call, token, signal)
      if (answer.status !== UNAUTHORIZED) return answer
      wanting.add(key)
      tokens.drop(service)
      token = await tokenFor(service, signal)
      if (token === undefined) throw southboundUnavailable(unlisted(service))
      answer = await send(service, call, token, signal)
      if (answer.status !== UNAUTHORIZED) return answer
      tokens.drop(service)
      throw southboundUnavailable(refused(service))
    },
  }
}

function keyOf({ nfType, scope, url }: Service): string {
  return `${nfType} ${scope} ${url()}`
}

function unlisted({ nfType, scope, file }: Service): string {
  return (
    `the ${nfType} asks for a token (OAuth2 is on), and the NRF gives none for ${scope}: ` +
    `list ${scope} under serviceNameList in ${file} and restart the ${nfType}`
  )
}

function refused({ nfType, file }: Service): string {
  return (
    `the ${nfType} does not take the NRF's token (401): nrfCertPem in ${file} must name the certificate that the NRF ` +
    'uses now, and the clocks must agree'
  )
}
