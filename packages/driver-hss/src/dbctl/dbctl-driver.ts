import {
  type BatchResult,
  type Imsi,
  isServiceError,
  type Subscriber,
  southboundUnavailable,
} from '@steeple/contracts'
import { errorOf, imsiOf, itself, type Results } from '../batch.ts'
import type { WriteBackDriver } from '../driver.ts'
import { toolSubscribers } from './subscribers.ts'
import { dbctlTool, type Tool } from './tool.ts'

/** A call begins no further subscriber after this time, ms: the tool is slow, and callers do not wait for ever. */
const BUDGET_MS = 10_000

/** What the driver needs. */
export interface DbctlOptions {
  /** Path or name of the executable. */
  readonly path: string
  /** The database that it is told to use; empty for its own default. */
  readonly url: string
  /** The same database directly, when it can be reached: does what the stock tool cannot. */
  readonly documents: WriteBackDriver | undefined
  readonly tool?: Tool
  /** `BUDGET_MS` when absent. */
  readonly budgetMs?: number
}

/**
 * Subscribers through an open5gs-dbctl. One run of the tool for each step of each subscriber: for small networks.
 *
 * The stock tool takes Ki and OPc on its command line, where the machine's process list shows them.
 */
export function dbctlDriver(options: DbctlOptions): WriteBackDriver {
  const tool = options.tool ?? dbctlTool(options.path, options.url)
  let isEmpty = true
  let changes = 0
  const probe: WriteBackDriver['probe'] = async (signal) => {
    const { isCut, docs } = await tool.list(signal)
    if (docs.length === 0 && !isEmpty) changes += 1
    isEmpty = docs.length === 0
    const cut =
      isCut && !(await tool.extras(signal)).has('show')
        ? '; it lists 20 subscribers only, the rest is taken on trust'
        : ''
    return { isOk: true, detail: `${options.path} answers${cut}`, changes }
  }
  const { documents, budgetMs = BUDGET_MS } = options
  const oneByOneOf =
    (isSole: boolean): OneByOne =>
    (items, imsiOf, signal, work) =>
      inTurn({ tool, isSole, budgetMs }, items, imsiOf, signal, work)
  if (documents !== undefined) return withDocuments(tool, documents, oneByOneOf(false))
  const oneByOne = oneByOneOf(true)
  const subscribers = toolSubscribers(tool)
  return {
    name: 'dbctl',
    observe: (imsis, signal) => subscribers.observe(imsis, signal),
    upsert: async (all, signal) => {
      signal.throwIfAborted()
      const before = await tool.listOf(all.map(imsiOf), signal)
      return await oneByOne(all, imsiOf, signal, (one) => subscribers.upsert(one, before, signal))
    },
    remove: (imsis, signal) => oneByOne(imsis, itself, signal, (imsi) => subscribers.remove(imsi, signal)),
    setBlocked: (imsis, isBlocked, signal) =>
      oneByOne(imsis, itself, signal, (imsi) => subscribers.setBlocked(imsi, isBlocked, signal)),
    cancelLocation: (imsis, signal) =>
      oneByOne(imsis, itself, signal, (imsi) => subscribers.cancelLocation(imsi, signal)),
    probe,
    sweep: async () => undefined,
    close: async () => undefined,
  }
}

/** The tool adds and removes; the rest, which it cannot do, is done in the documents themselves. */
function withDocuments(tool: Tool, documents: WriteBackDriver, oneByOne: OneByOne): WriteBackDriver {
  return {
    ...documents,
    name: 'dbctl',
    upsert: async (all, signal) => {
      const held = await documents.observe(all.map(imsiOf), signal)
      const absent = all.filter(({ imsi }) => !held.has(imsi))
      const added = await oneByOne(absent, imsiOf, signal, async (one: Subscriber) => {
        await tool.add(one, signal)
      })
      const isIn = ({ imsi }: Subscriber): boolean => added.get(imsi) === undefined
      const written = await documents.upsert(all.filter(isIn), signal)
      return new Map([...added, ...written])
    },
    remove: async (imsis, signal) => {
      // Blocks first, so that whoever is on goes off.
      const held = [...(await documents.observe(imsis, signal)).keys()]
      const blocked = await documents.setBlocked(held, true, signal)
      const removed = await oneByOne(imsis, itself, signal, async (imsi) => {
        const problem = blocked.get(imsi)
        if (problem !== undefined) throw problem
        await tool.remove(imsi, signal)
      })
      return removed
    },
  }
}

/** Works through a list, see `inTurn`. */
type OneByOne = <T>(
  items: readonly T[],
  imsiOf: (item: T) => Imsi,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
) => Promise<BatchResult>

interface Means {
  readonly tool: Tool
  /** Whether the tool is the only way to the database. */
  readonly isSole: boolean
  readonly budgetMs: number
}

/**
 * One after the other, or all at once with a tool that takes many commands a run; an error is the result of its
 * subscriber alone. What is not reached in time has an error too and is left for the next call. An aborted signal
 * rejects.
 *
 * With a tool that is the only way, the first failure is a reason to look whether it lists anything. When it does not,
 * nobody else is tried, and the error is thrown if nothing got through.
 */
async function inTurn<T>(
  { tool, isSole, budgetMs }: Means,
  items: readonly T[],
  imsiOf: (item: T) => Imsi,
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<BatchResult> {
  signal.throwIfAborted()
  const results: Results = new Map()
  if (items.length === 0) return results
  const budget = AbortSignal.timeout(budgetMs)
  const slow = southboundUnavailable('dbctl is slow: not reached yet, it is tried again')
  let away: Error | undefined
  const one = async (item: T): Promise<Error | undefined> => {
    let problem = away ?? (budget.aborted ? slow : undefined)
    try {
      if (problem === undefined) await work(item)
    } catch (error) {
      signal.throwIfAborted()
      problem = errorOf(error)
    }
    results.set(imsiOf(item), problem)
    return problem
  }
  const look = async (problems: readonly (Error | undefined)[]): Promise<boolean> => {
    if (!isSole || !problems.some((problem) => problem !== slow && isUnavailable(problem))) return false
    away = await problemOf(tool, signal)
    return true
  }
  const isBatch = await tool.extras(signal).then(
    (extras) => extras.has('batch'),
    (error: unknown) => {
      // The documents are written all the same.
      if (isSole) throw error
      return false
    },
  )
  if (isBatch) await look(await Promise.all(items.map(one)))
  else {
    let isLookedAt = false
    for (const item of items) {
      const problem = await one(item)
      if (!isLookedAt) isLookedAt = await look([problem])
    }
  }
  if (away !== undefined && [...results.values()].every((problem) => problem !== undefined)) throw away
  return results
}

function isUnavailable(problem: Error | undefined): boolean {
  return isServiceError(problem) && problem.code === southboundUnavailable.code
}

/** Why the tool lists nobody; undefined when it lists. */
async function problemOf(tool: Tool, signal: AbortSignal): Promise<Error | undefined> {
  try {
    await tool.list(signal)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    return errorOf(error)
  }
}
