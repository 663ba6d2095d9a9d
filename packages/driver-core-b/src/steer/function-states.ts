import type { CoreObserved } from '@steeple/contracts'
import { abortable } from '@steeple/southbound'
import type { CoreUrls } from '../places.ts'
import { functionsOf, type NetworkFunction } from '../render/functions.ts'
import { causeCode, type HttpClient } from '../sbi/http-client.ts'

/** How long a function may take to answer, ms. */
const ANSWER_MS = 2_500

/** What is looked at from outside. */
export interface WatchedCore {
  readonly http: HttpClient
  readonly urls: CoreUrls
  hasCharging(): boolean
}

/**
 * Whether a function serves: undefined when it does, else what is wrong.
 *
 * Any answer will do, 401 and 404 too: the port opens only once the NRF has taken the function in. The UPF has none.
 */
export async function problemOf(
  nf: NetworkFunction,
  { http, urls }: WatchedCore,
  signal: AbortSignal,
): Promise<{ readonly words: string; readonly isUnknownName: boolean } | undefined> {
  if (nf === 'upf') return undefined
  const call = { method: 'GET', url: `${urls.of(nf)}/`, peer: nf.toUpperCase() } as const
  try {
    await abortable(http.call(call, signal), signal, ANSWER_MS)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    const { cause } = error as { cause?: unknown } // checked by causeCode
    const isUnknownName = ['ENOTFOUND', 'EAI_AGAIN'].includes(causeCode(cause))
    return { words: error instanceof Error ? error.message : String(error), isUnknownName }
  }
}

/** The state of every function: `unknown` for the UPF, and for one that is silent where nobody said that it is. */
export async function functionStates(
  core: WatchedCore,
  signal: AbortSignal,
): Promise<CoreObserved['services']> {
  const states = functionsOf(core.hasCharging()).map(async (nf) => {
    if (nf === 'upf') return [nf, 'unknown'] as const
    const problem = await problemOf(nf, core, signal)
    if (problem === undefined) return [nf, 'up'] as const
    return [nf, core.urls.isNamed(nf) ? 'down' : 'unknown'] as const
  })
  return new Map(await Promise.all(states))
}
