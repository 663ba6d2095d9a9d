import { type AuthenticatedPrincipal, authenticatorRef, type Principal } from '@steeple/contracts'
import type { EdgeKernel } from '../edge-kernel.ts'

/** Answers of the authenticator, for the same header again. */
export interface PrincipalMemo {
  /** The principal of that header, if it was asked for within the last second and nothing was revoked since. */
  recall(authorization: string | undefined): Principal | undefined
  /** Keeps an answer; `epoch` is the authenticator's from before the question. */
  keep(authorization: string | undefined, principal: AuthenticatedPrincipal, epoch: object | undefined): void
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

/** Saves a busy client two hashes and a look-up per request. Holds nothing while the authenticator names no epoch. */
export function createMemo(kernel: EdgeKernel): PrincipalMemo {
  const kept = new Map<string, Kept>()
  const { clock } = kernel
  return {
    recall: (authorization) => {
      const found = authorization === undefined ? undefined : kept.get(authorization)
      if (found === undefined) return undefined
      const { expiresAtMs } = found.principal
      const isFresh =
        clock.monotonicMs() < found.untilMs &&
        (expiresAtMs === undefined || clock.nowMs() < expiresAtMs) &&
        kernel.service(authenticatorRef)?.epoch === found.epoch
      return isFresh ? found.principal : undefined
    },
    keep: (authorization, principal, epoch) => {
      if (authorization === undefined || epoch === undefined) return
      if (kept.size >= MOST_KEPT) kept.clear()
      kept.set(authorization, { principal, epoch, untilMs: clock.monotonicMs() + KEEP_MS })
    },
  }
}
