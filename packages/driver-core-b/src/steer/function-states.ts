import { type CoreObserved, messageOf } from '@steeple/contracts'
import { codeOf } from '@steeple/http-client'
import { abortable } from '@steeple/southbound'
import type { CoreUrls } from '../places.ts'
import { functionsOf, type NetworkFunction } from '../render/functions.ts'
import type { HttpClient } from '../sbi/http-client.ts'

/** How long a function may take to answer, ms. */
const ANSWER_MS = 2_500

/** What is looked at from outside. */
export interface WatchedCore {
  readonly http: HttpClient
  readonly urls: CoreUrls
  hasCharging(): boolean
  /** Whether the container of a function runs; undefined when none is named or nobody can be asked. */
  container(nf: NetworkFunction, signal: AbortSignal): Promise<'up' | 'down' | undefined>
  /** For `CoreObserved.restarted`. */
  restarted(): ReadonlyMap<string, string>
  /** Where each function has answered: one that was there once is missed there. */
  readonly answered: Map<NetworkFunction, string>
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
    const { cause } = error as { cause?: unknown } // checked by codeOf
    const isUnknownName = ['ENOTFOUND', 'EAI_AGAIN'].includes(codeOf(cause))
    return { words: messageOf(error), isUnknownName }
  }
}

/** The state of every function, in the order of their restarts. */
export async function functionStates(
  core: WatchedCore,
  signal: AbortSignal,
): Promise<CoreObserved['services']> {
  const states = functionsOf(core.hasCharging()).map(
    async (nf) => [nf, await functionState(nf, core, signal)] as const,
  )
  return new Map(await Promise.all(states))
}

/**
 * Down is whose container does not run, and who is silent where it is said to be or has answered before. Where nobody said
 * that, and for the UPF, the container is all there is to judge by.
 */
async function functionState(
  nf: NetworkFunction,
  core: WatchedCore,
  signal: AbortSignal,
): Promise<'up' | 'down' | 'unknown'> {
  const container = await core.container(nf, signal)
  if (container === 'down') return 'down'
  if (nf === 'upf') return container ?? 'unknown'
  const url = core.urls.of(nf)
  if ((await problemOf(nf, core, signal)) === undefined) {
    core.answered.set(nf, url)
    return 'up'
  }
  const isExpected = core.urls.isNamed(nf) || core.answered.get(nf) === url
  return isExpected ? 'down' : (container ?? 'unknown')
}
