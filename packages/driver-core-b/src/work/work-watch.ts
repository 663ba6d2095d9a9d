import type { Clock } from '@steeple/contracts'
import type { NetworkFunction } from '../render/functions.ts'
import type { Caller } from '../sbi/caller.ts'
import type { FunctionLogs } from './function-logs.ts'
import { type Registry, registryAt } from './registry.ts'

/** What keeps functions that answer from doing their work, in words that follow their name. */
export type WorkProblems = ReadonlyMap<NetworkFunction, string>

/** Looks for what functions lack although they answer. Nothing throws but the signal's reason: who cannot be asked says nothing. */
export interface WorkWatch {
  /** Of all functions; a look of at most `ageMs` ago will do. */
  problems(ageMs: number, signal: AbortSignal): Promise<WorkProblems>
  /** Of one, now, by the NRF at `nrfUrl`. */
  problemOf(nf: NetworkFunction, nrfUrl: () => string, signal: AbortSignal): Promise<string | undefined>
}

/** What is looked at. */
export interface WorkParts {
  readonly caller: Caller
  readonly clock: Clock
  readonly functionLogs: FunctionLogs
  nrfUrl(): string
  functions(): readonly NetworkFunction[]
  /** What is wrong with the CHF, as who reads its records tells. */
  uncharged(): string | undefined
  /** Function → container, of those that the service may look at. */
  containers(): Readonly<Record<string, string>>
}

/** How long NRF and engine may take, ms. */
const LOOK_MS = 5_000
const NO_SCTP = /protocol not supported/
const UNANSWERED = 'it does not answer who looks for others: it may have lost its database'
const UNFOUND = 'the NRF does not have it, so no other function finds it: it has to restart'

export function workWatch(parts: WorkParts): WorkWatch {
  const { caller, clock, functionLogs } = parts
  let last: { readonly problems: WorkProblems; readonly atMs: number } | undefined
  const registry = async (
    functions: readonly NetworkFunction[],
    url: () => string,
    signal: AbortSignal,
  ): Promise<Registry | undefined> => {
    const limited = bounded(signal)
    const known = await orNothing(registryAt(caller, url, functions, limited), signal)
    return known ?? (limited.aborted ? { missing: [], problem: UNANSWERED } : undefined)
  }
  const saidBy = async (nf: NetworkFunction, signal: AbortSignal): Promise<string | undefined> => {
    const container = parts.containers()[nf]
    if (container === undefined) return undefined
    return await orNothing(functionLogs.problemOf(nf, container, bounded(signal)), signal)
  }
  const look = async (signal: AbortSignal): Promise<WorkProblems> => {
    const functions = parts.functions()
    const [known, ...said] = await Promise.all([
      registry(functions, parts.nrfUrl, signal),
      ...functions.map(async (nf) => [nf, await saidBy(nf, signal)] as const),
    ])
    const problems = new Map<NetworkFunction, string>()
    if (known?.problem !== undefined) problems.set('nrf', known.problem)
    for (const nf of known?.missing ?? []) problems.set(nf, UNFOUND)
    for (const [nf, words] of [...said, ['chf', parts.uncharged()] as const])
      if (words !== undefined) problems.set(nf, [problems.get(nf), words].filter(Boolean).join('; '))
    return problems
  }
  return {
    problems: async (ageMs, signal) => {
      const nowMs = clock.monotonicMs()
      if (last !== undefined && ageMs > 0 && nowMs - last.atMs <= ageMs) return last.problems
      last = { problems: await look(signal), atMs: nowMs }
      return last.problems
    },
    problemOf: async (nf, nrfUrl, signal) => {
      const known = await registry([nf], nrfUrl, signal)
      if (known?.missing.includes(nf) === true) return UNFOUND
      // A database that is away, or a kernel without SCTP, is no fault of a function's file.
      const words = await saidBy(nf, signal)
      return words !== undefined && NO_SCTP.test(words) ? undefined : words
    },
  }
}

/** The functions that the NRF was found not to have. */
export function unfoundIn(problems: WorkProblems): readonly NetworkFunction[] {
  return [...problems].filter(([, words]) => words.startsWith(UNFOUND)).map(([nf]) => nf)
}

function bounded(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)])
}

async function orNothing<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await work
  } catch {
    signal.throwIfAborted()
    return undefined // whoever cannot be asked has a component of its own
  }
}
