import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { loadTestbed, type Testbed, type TestbedPlugin } from '@steeple/testkit'
import { ROOT } from '../harness/launch.ts'
import { done, processorMs, type Service, type StartOptions, startService } from '../harness/service.ts'

/** One line of the result: what was measured, beside what it is compared to in the same run. */
export interface Finding {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The ceiling or the reference of the same run. */
  readonly beside?: { readonly what: string; readonly value: number }
  /** The target as it is written in the issue or the specification, and whether it holds. */
  readonly target: string
  readonly isMet: boolean
}

/** What a bench starts and makes: it ends with the bench, the last one first. */
export type Stage = AsyncDisposableStack

/** One bench: a row of the table. */
export interface Bench {
  readonly name: string
  /** What it measures, in a line. */
  readonly about: string
  readonly run: (stage: Stage) => Promise<readonly Finding[]>
}

/** A row of the table: what is there before anything is measured, and what is measured on it. */
export function bench<World>(row: {
  readonly name: string
  readonly about: string
  readonly setup: (stage: Stage) => World | Promise<World>
  readonly act: (world: World) => Promise<readonly Finding[]>
}): Bench {
  const { name, about, setup, act } = row
  return { name, about, run: async (stage) => await act(await setup(stage)) }
}

/** What a line has beside its value: what it is compared to in the same run, and its target where that is not said by the bound. */
export interface More {
  readonly beside?: readonly [what: string, value: number]
  readonly target?: string
}

/** A line that is met up to a bound. */
export function most(name: string, value: number, unit: string, limit: number, more: More = {}): Finding {
  return line(name, value, unit, value <= limit, { target: `≤ ${limit} ${unit}`, ...more })
}

/** A line that is met from a bound on. */
export function least(name: string, value: number, unit: string, limit: number, more: More = {}): Finding {
  return line(name, value, unit, value >= limit, { target: `≥ ${limit} ${unit}`, ...more })
}

/** A line that is met up to so many times what it is compared to. */
export function mostTimes(
  name: string,
  value: number,
  unit: string,
  times: number,
  beside: readonly [what: string, value: number],
  target = `≤ ${Math.round(100 * times)} %`,
): Finding {
  return line(name, value, unit, value <= times * beside[1], { beside, target })
}

/** The middle one, held to its bound by the longest one. */
export function longestOf(name: string, took: readonly number[], limit: number): Finding {
  const longest = Math.max(...took)
  return line(name, median(took), 'ms', longest <= limit, {
    beside: [`the longest of ${took.length}`, longest],
    target: `≤ ${limit} ms`,
  })
}

/** A line that nothing is asked of. */
export function told(name: string, value: number, unit: string, more: More = {}): Finding {
  return line(name, value, unit, true, { target: 'none', ...more })
}

/** Any line. */
export function line(
  name: string,
  value: number,
  unit: string,
  isMet: boolean,
  { beside, target = '' }: More,
): Finding {
  const compared = beside === undefined ? {} : { beside: { what: beside[0], value: beside[1] } }
  return { name, value, unit, ...compared, target, isMet }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** The value below which that share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** Ms that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** What the work gives, one time after the other. */
export async function times<T>(count: number, work: (round: number) => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let round = 0; round < count; round++) all.push(await work(round))
  return all
}

/** Processor time of a process so far, ms. */
export function cpuOf({ child }: { readonly child: ChildProcess }): number {
  return processorMs(child.pid ?? 0)
}

/** What a process uses of a core in that time, percent; `after` ms during which it comes to rest. */
export async function shareOf(
  process: { readonly child: ChildProcess },
  ms: number,
  after = 0,
): Promise<number> {
  await delay(after)
  const before = cpuOf(process)
  await delay(ms)
  return (100 * (cpuOf(process) - before)) / ms
}

/** `npm start` without a configuration knows no HSS. */
export const AS_NPM_START: StartOptions = { env: { SVC_HSS_DRIVER: 'none' } }

/** A service that ends with its block. */
export async function started(options?: StartOptions): Promise<Service & AsyncDisposable> {
  return ended(await startService(options))
}

/** The same, with an end by its block. */
export function ended(service: Service): Service & AsyncDisposable {
  return { ...service, [Symbol.asyncDispose]: async () => void (await service.stop()) }
}

/** Lets a benchmark do more in an hour than the default policy. */
export async function liftLimits(service: Service): Promise<void> {
  const rate_limits = { sim_issue_per_hour: 1_000_000, sim_import_rows_per_hour: 100_000_000 }
  await done(service, 'PUT', '/v1/policy', { rate_limits })
}

/** Packages of this workspace in a test bed that ends with the stage. */
export async function bedOf(
  stage: Stage,
  packages: readonly string[],
  more: readonly TestbedPlugin[] = [],
): Promise<Testbed> {
  const { startTestbed } = await loadTestbed()
  const plugins = [...packages.map((name) => ({ dir: join(ROOT, 'packages', name) })), ...more]
  return stage.adopt(await startTestbed({ plugins }), async (bed) => await bed.stop())
}

/**
 * A new folder on the disk of this checkout, since the system's temporary folder may be memory. It is removed with the stage, after the
 * last round: while ext4 remembers thousands of deleted files nearby (up to five minutes), each new one costs it up to 0.7 ms.
 */
export function diskFolder(stage: Stage): string {
  const parent = join(ROOT, 'bench-results')
  mkdirSync(parent, { recursive: true })
  return stage.adopt(mkdtempSync(join(parent, 'disk-')), (path) =>
    rmSync(path, { recursive: true, force: true }),
  )
}

/** What autocannon is asked to do. */
export interface LoadRequest {
  readonly url: string
  readonly connections: number
  readonly seconds: number
  readonly token?: string
  /** A JSON body to POST; GET without. */
  readonly body?: object
}

/** What came of a load, all of it answered with 2xx: answers per second, latencies in ms. */
export interface LoadResult {
  readonly perSecond: number
  readonly p99: number
  readonly non2xx: number
  readonly errors: number
  readonly total: number
}

/** A program of `programs.ts` in a process of its own, and what it first says to what it is told. */
export interface Program<Said> extends Disposable {
  readonly child: ChildProcess
  readonly said: Said
  /** What it says to a word more. */
  ask<More>(): Promise<More>
}

const PROGRAMS = fileURLToPath(new URL('./programs.ts', import.meta.url))

/** Starts a program with what it has to know: in a message, since arguments are in a list of processes. It ends with its block. */
export async function program<Said>(name: string, message: object): Promise<Program<Said>> {
  const child = fork(PROGRAMS, [name], {
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${code} and said nothing`)
  })
  // Whoever waits for it no more need not hear of its end.
  gone.catch(() => undefined)
  const ask = async <Type>(word: object): Promise<Type> => {
    const heard = once(child, 'message')
    child.send(word)
    // programs.ts says what its caller expects.
    return (await Promise.race([heard, gone]))[0] as Type
  }
  const said = await ask<Said>(message)
  return { child, said, ask: () => ask({}), [Symbol.dispose]: () => void child.kill() }
}

/** Sends a load from another process, on the other core. Throws when an answer is no 2xx. */
export async function load(request: LoadRequest): Promise<LoadResult> {
  using loader = await program<LoadResult>('load', request)
  const { non2xx, errors } = loader.said
  if (non2xx > 0 || errors > 0)
    throw new Error(`${request.url}: ${non2xx} answers were not 2xx, ${errors} failed`)
  return loader.said
}

/** The same, and what each answer costs a process. */
export async function loadOn(
  server: { readonly child: ChildProcess },
  request: LoadRequest,
): Promise<LoadResult & { readonly cpuMs: number }> {
  const before = cpuOf(server)
  const result = await load(request)
  return { ...result, cpuMs: (cpuOf(server) - before) / result.total }
}
