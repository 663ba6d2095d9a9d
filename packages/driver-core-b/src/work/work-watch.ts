import { type Clock, jsonIn } from '@steeple/contracts'
import { type ChargingRun, type Engine, lastWords, newLinesOfOutput } from '@steeple/southbound'
import { plainLine } from '../diagnose/diagnose.ts'
import { functionsOf, type NetworkFunction } from '../render/functions.ts'
import type { Caller, Service } from '../sbi/caller.ts'
import { fieldOf, textOf } from '../sbi/http-client.ts'

/** Lines of a function that say how one of its interfaces does: the last one of either kind holds. Texts of 3.4 and 4.2. */
interface Telling {
  readonly well: RegExp
  readonly ill: RegExp
  readonly words: string
}

const TELLING: Readonly<Partial<Record<NetworkFunction, Telling>>> = {
  amf: {
    well: /\bListen on \S/,
    ill: /\b(Failed to listen: .*)/,
    words:
      'it does not listen for base stations (N2), see core_b.addresses.n2 and whether its kernel has SCTP',
  },
  smf: {
    well: /Received PFCP Association Setup Accepted Response from UPF/,
    ill: /(Failed to setup an association with UPF.*|PFCP Heartbeat error: .*)/,
    words: 'it has no PFCP association with the UPF (N4), so nobody gets a session',
  },
}

/** A function may have spoken so much before the engine notes its start, ms. */
const EARLY_MS = 300

/** What is known of one run of a container. */
interface Heard {
  readonly startedAtMs: number
  readonly position: string
  readonly problem: string | undefined
}

/** What the function in `container` complains of since its last start; undefined when of nothing, or nobody can tell. */
type Complaints = (nf: NetworkFunction, container: string, signal: AbortSignal) => Promise<string | undefined>

/** Of interfaces that nobody can be asked about: by the output of containers, each line read once. */
function complaintsIn(engine: Engine): Complaints {
  const heard = new Map<string, Heard>()
  return async (nf, container, signal) => {
    const telling = TELLING[nf]
    const startedAtMs = telling && (await engine.inspect(container, signal))?.startedAtMs
    if (telling === undefined || startedAtMs === undefined) return undefined
    const known = heard.get(container)
    const before = known?.startedAtMs === startedAtMs ? known : begun(startedAtMs)
    const { lines, position } = await newLinesOfOutput(engine, container, before.position, signal)
    let { problem } = before
    for (const line of lines.map(plainLine)) {
      if (telling.well.test(line)) problem = undefined
      const complaint = telling.ill.exec(line)?.[1]
      if (complaint !== undefined) problem = `${telling.words}: ${lastWords(complaint)}`
    }
    heard.set(container, { startedAtMs, position, problem })
    return problem
  }
}

function begun(startedAtMs: number): Heard {
  const position = JSON.stringify({ at: new Date(startedAtMs - EARLY_MS).toISOString(), count: 0 })
  return { startedAtMs, position, problem: undefined }
}

/** The functions that others look for at the NRF, each with one that does; the UPF knows no NRF. */
const WANTED_BY: readonly (readonly [NetworkFunction, string])[] = [
  ['udr', 'UDM'],
  ['udm', 'AMF'],
  ['ausf', 'AMF'],
  ['nssf', 'AMF'],
  ['pcf', 'SMF'],
  ['chf', 'SMF'],
  ['smf', 'AMF'],
  ['amf', 'SMF'],
]

/** What the NRF gives who looks for the others. */
interface Registry {
  /** Functions that it does not have. */
  readonly missing: readonly NetworkFunction[]
  /** Why it does not say; undefined when it does. */
  readonly problem: string | undefined
}

const DISCOVERY = '/nnrf-disc/v1/nf-instances'

/**
 * Asks the NRF at `url` for each of `functions` as the others do (TS 29.510 §5.3.2.2). Throws `southbound_unavailable` when it
 * cannot be asked.
 */
async function registryAt(
  caller: Caller,
  url: () => string,
  functions: readonly NetworkFunction[],
  signal: AbortSignal,
): Promise<Registry> {
  const missing: NetworkFunction[] = []
  for (const [nf] of WANTED_BY) {
    if (!functions.includes(nf)) continue
    const { status, ids } = await instancesOf(caller, url, nf, signal)
    if (status !== 200)
      return {
        missing,
        problem: `it answers ${status} to who looks for others: it may have lost its database`,
      }
    if (ids.length === 0) missing.push(nf)
  }
  return { missing, problem: undefined }
}

/** Under which ids the NRF at `url` has a function, and the status of its answer. Throws as `registryAt`. */
async function instancesOf(
  caller: Caller,
  url: () => string,
  nf: NetworkFunction,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly ids: readonly string[] }> {
  const service: Service = { nfType: 'NRF', scope: 'nnrf-disc', url, file: 'nrfcfg.yaml' }
  const requester = WANTED_BY.find(([wanted]) => wanted === nf)?.[1] ?? 'AMF'
  const query = `target-nf-type=${nf.toUpperCase()}&requester-nf-type=${requester}`
  const call = { method: 'GET', path: `${DISCOVERY}?${query}` } as const
  const { status, text } = await caller.call(service, call, signal)
  const found = fieldOf(jsonIn(text), 'nfInstances')
  const there = Array.isArray(found) ? found.filter((one) => textOf(one, 'nfStatus') === 'REGISTERED') : []
  return { status, ids: there.map((one) => textOf(one, 'nfInstanceId')) }
}

/** What keeps functions that answer from doing their work, in words that follow their name. */
type WorkProblems = ReadonlyMap<NetworkFunction, string>

/** Looks for what functions lack although they answer. Nothing throws but the signal's reason: who cannot be asked says nothing. */
export interface WorkWatch {
  /** Of all functions; a look of at most `ageMs` ago will do. */
  problems(ageMs: number, signal: AbortSignal): Promise<WorkProblems>
  /** Of one, now, by the NRF at `nrfUrl`. */
  problemOf(nf: NetworkFunction, nrfUrl: () => string, signal: AbortSignal): Promise<string | undefined>
}

/** Where functions are asked and looked at. */
export interface Reached {
  readonly engine: Engine
  readonly caller: Caller
  nrfUrl(): string
  hasCharging(): boolean
  /** Function → container, of those that the service may look at. */
  containers(): Readonly<Record<string, string>>
}

/** How long NRF and engine may take, ms. */
const LOOK_MS = 5_000
const NO_SCTP = /protocol not supported/
const UNANSWERED = 'it does not answer who looks for others: it may have lost its database'
const UNFOUND = 'the NRF does not have it, so no other function finds it: it has to restart'

/** `uncharged`: what is wrong with the CHF, as who reads its records tells. */
export function workWatch(clock: Clock, reached: Reached, uncharged: () => string | undefined): WorkWatch {
  const { caller, engine, nrfUrl, hasCharging, containers } = reached
  const complaints = complaintsIn(engine)
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
    const container = containers()[nf]
    if (container === undefined) return undefined
    return await orNothing(complaints(nf, container, bounded(signal)), signal)
  }
  const look = async (signal: AbortSignal): Promise<WorkProblems> => {
    const functions = functionsOf(hasCharging())
    const [known, ...said] = await Promise.all([
      registry(functions, nrfUrl, signal),
      ...functions.map(async (nf) => [nf, await saidBy(nf, signal)] as const),
    ])
    const problems = new Map<NetworkFunction, string>()
    if (known?.problem !== undefined) problems.set('nrf', known.problem)
    for (const nf of known?.missing ?? []) problems.set(nf, UNFOUND)
    for (const [nf, words] of [...said, ['chf', uncharged()] as const])
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
    problemOf: async (nf, at, signal) => {
      const known = await registry([nf], at, signal)
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

/**
 * Which run of the CHF there is: by the start of its container, else by the id under which it has registered, which is
 * another one after each start unless its file fixes it. Throws `southbound_unavailable`.
 */
export async function chargingRun(
  { engine, caller, nrfUrl, hasCharging, containers }: Reached,
  signal: AbortSignal,
): Promise<ChargingRun | undefined> {
  if (!hasCharging()) return undefined
  const { chf, smf } = containers()
  if (chf !== undefined) {
    const [own, sessions] = await Promise.all([
      engine.inspect(chf, signal),
      smf === undefined ? undefined : engine.inspect(smf, signal),
    ])
    const startedAtMs = own?.isRunning === true ? own.startedAtMs : undefined
    const isOlderThanSessions = startedAtMs !== undefined && (sessions?.startedAtMs ?? 0) > startedAtMs
    return { run: startedAtMs === undefined ? undefined : String(startedAtMs), isOlderThanSessions }
  }
  const { status, ids } = await instancesOf(caller, nrfUrl, 'chf', signal)
  if (status !== 200) return undefined
  return { run: ids.length === 0 ? undefined : ids.toSorted().join(','), isOlderThanSessions: false }
}
