import { type AuthenticatedPrincipal, authenticatorRef, type Principal } from '@steeple/contracts'
import type { EdgeKernel } from '../edge-kernel.ts'

/** Answers of the authenticator, for the same header again. */
export interface PrincipalMemo {
  /** The principal of that header, if it was asked for within the last second and nothing was revoked since. */
  recall(authorization: string | undefined): Principal | undefined
  /** Keeps an answer; `epoch` is the authenticator's from before the question. */
  keep(authorization: string | undefined, principal: AuthenticatedPrincipal, epoch: object | undefined): void
  /** Keeps an answer that holds as long as this process. */
  keepAlways(authorization: string | undefined, principal: Principal): void
}

interface Kept {
  readonly principal: AuthenticatedPrincipal
  readonly epoch: object
  readonly untilMs: number
}

/** The authenticator is asked at least that often, so that it knows of the use of a token. */
const KEEP_MS = 1_000
/** Only headers that were accepted get in. */
const MOST_KEPT = 1_000
const MOST_ALWAYS = 8

/** Saves a busy client two hashes and a look-up per request. Holds nothing while the authenticator names no epoch. */
export function createMemo(kernel: EdgeKernel): PrincipalMemo {
  const kept = new Map<string, Kept>()
  // A header is found by its hash, and compared where that is the same: what does not fit says nothing of what would.
  const always = new Map<string, Principal>()
  const { clock } = kernel
  return {
    recall: (authorization) => {
      if (authorization === undefined) return undefined
      const found = kept.get(authorization)
      if (found === undefined) return always.get(authorization)
      const { expiresAtMs } = found.principal
      const isFresh =
        clock.monotonicMs() < found.untilMs &&
        (expiresAtMs === undefined || clock.nowMs() < expiresAtMs) &&
        kernel.service(authenticatorRef)?.epoch === found.epoch
      return isFresh ? found.principal : undefined
    },
    keepAlways: (authorization, principal) => {
      if (authorization === undefined) return
      if (always.size >= MOST_ALWAYS) always.clear()
      always.set(authorization, principal)
    },
    keep: (authorization, principal, epoch) => {
      if (authorization === undefined || epoch === undefined) return
      if (kept.size >= MOST_KEPT) kept.clear()
      kept.set(authorization, { principal, epoch, untilMs: clock.monotonicMs() + KEEP_MS })
    },
  }
}
