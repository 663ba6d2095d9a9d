import { hash } from 'node:crypto'
import { isServiceError, networkOf, overLimit, type ServiceError, unauthenticated } from '@steeple/contracts'
import type { EdgeKernel } from '../edge-kernel.ts'
import { ANONYMOUS } from './authenticate.ts'
import type { RequestContext } from './request-context.ts'

/** How many failed credentials an address may send. */
export interface FailureLimits {
  /** In a row. */
  readonly burst: number
  /** After that. */
  readonly perSecond: number
  /** Failures of so many ms are one audit entry for each address. */
  readonly auditMs: number
}

/** Addresses remembered at a time; the oldest goes for a new one. */
const MOST_KNOWN = 10_000
/** Addresses with an audit entry of their own; all others share one. */
const MOST_AUDITED = 20
const OTHERS = 'other addresses'
/** The principal that the environment's token stands for. */
const BY_ENVIRONMENT = 'admin-env'
/** Tokens that this service or its login has drawn at random: nobody guesses one. */
const DRAWN = /^Bearer +(svcb?_[A-Za-z0-9_-]{40,}|[\w-]{10,}\.[\w-]{10,}\.[\w-]{40,})$/i
const BEARER = /^Bearer +\S/i

interface Bucket {
  left: number
  atMs: number
}

interface Count {
  failures: number
  throttled: number
}

/**
 * Throttles credentials that do not hold, by address, and audits them in sum.
 *
 * Nobody locks out others behind the same address: what was drawn at random is looked up whatever came before, and
 * so is the environment's token from an address that has used it. Only what might be a guess at that token is refused
 * unseen once an address has used up its failures, until some come back.
 */
export class FailedCredentials {
  readonly #kernel: EdgeKernel
  readonly #limits: FailureLimits
  readonly #buckets = new Map<string, Bucket>()
  /** Digest of the environment's credential by address that it came from. */
  readonly #trusted = new Map<string, string>()
  #counts = new Map<string, Count>()
  #timer: NodeJS.Timeout | undefined

  constructor(kernel: EdgeKernel, limits: FailureLimits) {
    this.#kernel = kernel
    this.#limits = limits
  }

  /** Refuses a guess of an address that has failed too often. Throws `rate_limited`. */
  refuseGuess(context: RequestContext): void {
    if (this.#buckets.size === 0) return
    const { authorization } = context.incoming.headers
    if (authorization === undefined || !BEARER.test(authorization) || DRAWN.test(authorization)) return
    const address = networkOf(context.peerAddress)
    if (this.#left(address) >= 1) return
    const known = this.#trusted.get(address)
    if (known !== undefined && known === digestOf(authorization)) return
    this.#note(address, true)
    throw this.#tooMany()
  }

  /** A credential held. */
  succeeded(context: RequestContext): void {
    if (context.principal.kind !== BY_ENVIRONMENT || this.#trusted.has(networkOf(context.peerAddress))) return
    const { authorization } = context.incoming.headers
    if (authorization !== undefined) {
      keep(this.#trusted, networkOf(context.peerAddress), digestOf(authorization))
    }
  }

  /** What to answer to a request whose authentication threw: the same, or that there were too many. */
  failed(context: RequestContext, thrown: unknown): unknown {
    const { authorization } = context.incoming.headers
    const isFailure = isServiceError(thrown) && thrown.status === unauthenticated.status
    if (!isFailure) return thrown
    const address = networkOf(context.peerAddress)
    if (context.core.certificates.isRefused(context.connection.socket)) {
      // Nobody guesses a certificate.
      this.#note(address, false)
      return thrown
    }
    if (authorization === undefined || !BEARER.test(authorization)) return thrown
    const left = this.#left(address)
    const isThrottled = left < 1
    keep(this.#buckets, address, {
      left: isThrottled ? left : left - 1,
      atMs: this.#kernel.clock.monotonicMs(),
    })
    this.#note(address, isThrottled)
    return isThrottled ? this.#tooMany() : thrown
  }

  /** Writes what is not audited yet. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const counts = this.#counts
    this.#counts = new Map()
    const { mutations, log } = this.#kernel
    for (const [address, { failures, throttled }] of counts) {
      const entry = {
        principal: ANONYMOUS,
        action: 'auth.refuse',
        target: address,
        outcome: 'denied' as const,
        detail: { failures, throttled },
      }
      // A store that takes no writes has said so already.
      await mutations.refuse(entry).catch((error: unknown) => {
        log.warn({ err: error, failures }, 'failed credentials could not be audited')
      })
    }
  }

  #left(address: string): number {
    const bucket = this.#buckets.get(address)
    if (bucket === undefined) return this.#limits.burst
    const restoredMs = this.#kernel.clock.monotonicMs() - bucket.atMs
    return Math.min(this.#limits.burst, bucket.left + (restoredMs / 1_000) * this.#limits.perSecond)
  }

  #note(address: string, isThrottled: boolean): void {
    const name = this.#counts.has(address) || this.#counts.size < MOST_AUDITED ? address : OTHERS
    const count = this.#counts.get(name) ?? { failures: 0, throttled: 0 }
    count.failures += 1
    if (isThrottled) count.throttled += 1
    this.#counts.set(name, count)
    this.#timer ??= setTimeout(() => void this.flush(), this.#limits.auditMs).unref()
  }

  #tooMany(): ServiceError {
    const { burst, perSecond } = this.#limits
    return overLimit('too many credentials from this address did not hold; wait, and check the token', {
      name: 'failed_credentials',
      limit: burst,
      resetS: Math.max(1, Math.ceil(1 / perSecond)),
      windowS: Math.max(1, Math.ceil(burst / perSecond)),
    })
  }
}

function keep<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  const oldest = map.keys().next()
  if (map.size >= MOST_KNOWN && oldest.done !== true) map.delete(oldest.value)
  map.set(key, value)
}

function digestOf(authorization: string): string {
  return hash('sha256', authorization)
}
