import {
  type BatchResult,
  type Imsi,
  isServiceError,
  notFound,
  type Subscriber,
  type SubscriberObserved,
  southboundUnavailable,
} from '@steeple/contracts'
import { errorOf, imsiOf, itself, type Results } from '../batch.ts'
import { checkSubscriber } from '../check-subscriber.ts'
import { type DriverKind, hssOf } from '../config.ts'
import type { WriteBackDriver } from '../driver.ts'
import type { Doc } from '../links/document-link.ts'
import { linkLooks } from '../links/links.ts'
import { observedOf } from '../open5gs/observed.ts'
import { documentsOf } from '../open5gs/open5gs-driver.ts'
import { docsOf } from '../open5gs/slices.ts'
import type { Listing } from './tool.ts'
import { dbctlTool, type Tool } from './tool.ts'

/** A call begins no further subscriber after this time, ms: the tool is slow, and callers do not wait for ever. */
const BUDGET_MS = 10_000

interface DbctlOptions {
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
    // A look starts the tool; whether one that is away is back, a dial says first.
    pace: { everyMs: 15_000, awayMs: 1_000 },
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

/**
 * What the stock tool can do, and the further commands of a compatible one that has them.
 *
 * Without `block`, a subscriber is blocked by being removed: nothing else of the stock tool bars anybody. It is put
 * back by the next push. What this process pushed is remembered (without keys) for what the listing does not show.
 */
function toolSubscribers(tool: Tool) {
  const pushed = new Map<Imsi, SubscriberObserved>()
  const has: Has = async (name, signal) => (await tool.extras(signal)).has(name)
  const remember = ({ imsi, apns, ambrBps }: SubscriberObserved, isBlocked: boolean): void => {
    pushed.set(imsi, { imsi, apns, ambrBps, isBlocked })
  }
  const { block, place } = toolSteps(tool, has)
  const bar = async (imsi: Imsi, trusted: SubscriberObserved | undefined, signal: AbortSignal) => {
    const held = trusted ?? (await toolObserved(tool, imsi, signal))
    const gone = held === undefined ? 0 : await tool.remove(imsi, signal)
    if (held === undefined || (gone === 0 && !held.isBlocked)) throw absent()
    remember(held, true)
  }

  return {
    observe: async (
      imsis: readonly Imsi[],
      signal: AbortSignal,
    ): Promise<ReadonlyMap<Imsi, SubscriberObserved>> => {
      signal.throwIfAborted()
      const listing = await tool.listOf(imsis, signal)
      const seen = new Map<Imsi, SubscriberObserved>()
      for (const imsi of imsis) {
        const doc = shownIn(listing, imsi)
        const shown = doc === undefined ? undefined : shownSubscriber(doc)
        const trusted = pushed.get(imsi)
        // One that was blocked by removal is not listed; one beyond the listing's end cannot be seen.
        const isTrusted = doc === undefined && (listing.isCut || trusted?.isBlocked === true)
        const observed = shown ?? (isTrusted ? trusted : undefined)
        if (observed !== undefined) seen.set(imsi, observed)
      }
      return seen
    },
    /** `before`: what the tool lists, for the comparison of APNs. */
    upsert: async (subscriber: Subscriber, before: Listing, signal: AbortSignal): Promise<void> => {
      checkSubscriber(subscriber)
      const { imsi, isBlocked } = subscriber
      const canBlock = await has('block', signal)
      if (isBlocked && !canBlock) await tool.remove(imsi, signal)
      else await place(subscriber, before, canBlock, signal)
      remember(subscriber, isBlocked)
    },
    remove: async (imsi: Imsi, signal: AbortSignal): Promise<void> => {
      await tool.remove(imsi, signal)
      pushed.delete(imsi)
    },
    setBlocked: async (imsi: Imsi, isBlocked: boolean, signal: AbortSignal): Promise<void> => {
      const trusted = pushed.get(imsi)
      if (await has('block', signal)) {
        if (!(await block(imsi, isBlocked, signal))) throw absent()
        if (trusted !== undefined) remember(trusted, isBlocked)
        return
      }
      if (isBlocked) await bar(imsi, trusted, signal)
      else if (trusted?.isBlocked !== false) throw absent()
    },
    /** Throws `not_found` for one that is not there, and with a tool that has no `cancel_location`. */
    cancelLocation: async (imsi: Imsi, signal: AbortSignal): Promise<void> => {
      if (!(await has('cancel_location', signal))) throw notFound('command cancel_location of this dbctl')
      if (!(await tool.extra('cancel_location', [imsi], signal))) throw absent()
    },
  }
}

/** Whether the tool has a command beside those of the stock one. */
type Has = (name: string, signal: AbortSignal) => Promise<boolean>

/** The commands that bring a subscriber to what it is to be, in an order in which each can fail. */
function toolSteps(tool: Tool, has: Has) {
  const create = async (subscriber: Subscriber, signal: AbortSignal): Promise<void> => {
    const { imsi, sqn } = subscriber
    if ((await tool.add(subscriber, signal)) === 'exists') {
      throw southboundUnavailable(
        'another writer made the same subscriber at the same time; it is tried again',
      )
    }
    for (const apn of subscriber.apns.slice(1)) must(await tool.addApn(imsi, apn, signal))
    must(await tool.setAmbr(subscriber, signal))
    if (await has('set_sqn', signal)) must(await tool.extra('set_sqn', [imsi, String(sqn)], signal))
  }
  const amend = async ({ imsi, apns }: Subscriber, held: readonly string[], signal: AbortSignal) => {
    if (held.some((apn, index) => apns[index] !== apn)) {
      throw southboundUnavailable(
        'dbctl cannot take APNs away or order them; set hss.mongo_url or docdb_shell',
      )
    }
    for (const apn of apns.slice(held.length)) must(await tool.addApn(imsi, apn, signal))
  }
  const block = async (imsi: Imsi, isBlocked: boolean, signal: AbortSignal): Promise<boolean> =>
    await tool.extra(isBlocked ? 'block' : 'unblock', [imsi], signal)
  const mend = async (
    subscriber: Subscriber,
    held: readonly string[],
    signal: AbortSignal,
  ): Promise<void> => {
    try {
      await amend(subscriber, held, signal)
      must(await tool.setAmbr(subscriber, signal))
    } catch (error) {
      // Who may not be on stays off, whatever else cannot be mended.
      if (subscriber.isBlocked) must(await block(subscriber.imsi, true, signal))
      throw error
    }
  }
  const place = async (
    subscriber: Subscriber,
    before: Listing,
    canBlock: boolean,
    signal: AbortSignal,
  ): Promise<void> => {
    const { imsi, isBlocked } = subscriber
    const doc = shownIn(before, imsi)
    if (doc === undefined) {
      // What the listing does not show may be there all the same; setting its AMBR tells.
      const isThere = before.isCut && (await tool.setAmbr(subscriber, signal))
      if (!isThere) await create(subscriber, signal)
    } else {
      const shown = shownSubscriber(doc)
      // Unblocked first: the tool changes only slices that are in their place.
      if (canBlock && shown?.isBlocked === true) must(await block(imsi, false, signal))
      await mend(subscriber, shown?.apns ?? [], signal)
    }
    if (isBlocked) must(await block(imsi, true, signal))
  }
  return { block, place }
}

function shownIn({ docs }: Listing, imsi: Imsi): Doc | undefined {
  return docs.find((doc) => doc.imsi === imsi)
}

/** A shown document read as far as the tool can change it: the AMBR of further sessions is not its doing. */
function shownSubscriber(doc: Doc): SubscriberObserved | undefined {
  const first = (list: unknown): readonly Doc[] =>
    docsOf(list).map((slice) => {
      const sessions = docsOf(slice.session)
      return { ...slice, session: sessions.map((session) => ({ ...session, ambr: sessions[0]?.ambr })) }
    })
  const aside = doc.suspended_slice === undefined ? {} : { suspended_slice: first(doc.suspended_slice) }
  return observedOf({ ...doc, slice: first(doc.slice), ...aside }, 1)
}

async function toolObserved(
  tool: Tool,
  imsi: Imsi,
  signal: AbortSignal,
): Promise<SubscriberObserved | undefined> {
  const doc = shownIn(await tool.listOf([imsi], signal), imsi)
  return doc === undefined ? undefined : shownSubscriber(doc)
}

function absent(): Error {
  return notFound('such subscriber in the HSS; it must be pushed with its keys')
}

function must(isDone: boolean): void {
  if (!isDone) throw southboundUnavailable('dbctl lost a subscriber between two steps; it is tried again')
}

/** `hss.driver: dbctl`. */
export const dbctl: DriverKind = {
  make: (settings) => {
    const { dbctl_path: path, mongo_url: url } = hssOf(settings())
    return dbctlDriver({ path, url, documents: url === '' ? undefined : documentsOf(settings) })
  },
  looks: (hss) => [
    { name: 'hss', program: hss.dbctl_path, key: 'hss.dbctl_path' },
    ...(hss.mongo_url === '' ? [] : linkLooks(hss)),
  ],
}
