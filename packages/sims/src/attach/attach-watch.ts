import {
  type CoreAttaches,
  coreDriverRef,
  createPause,
  eachAbreast,
  type ImsiHash,
  systemPrincipal,
} from '@steeple/contracts'
import { imsiHash, safeText } from '@steeple/telecom'
import { SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { markDrifted } from '../provision/push.ts'
import { tellOfSims, toldTransition, wantedInHss } from '../states/change.ts'
import {
  addAttaches,
  attachPosition,
  attachTotals,
  keepAttachPosition,
  networksOf,
  noteSeen,
} from '../store/attach-store.ts'
import { SIMS, type SimRow } from '../store/sim-store.ts'
import type { Attached } from './attach-state.ts'

/** Bound on one question, ms. */
const ASK_MS = 3_000

/**
 * Counts attaches as the core tells of each: what it has told since the look before. One count for each, whatever restarts: totals and
 * the place up to which the core was heard are kept in one commit. False: it does not tell, and who looks must count.
 */
export function attachCount(parts: SimsParts): (signal: AbortSignal) => Promise<boolean> {
  const { context, counters } = parts
  let isFailing = false
  const keep = async (core: string, before: string | undefined, told: CoreAttaches): Promise<void> => {
    const networks = await networksOf(context.db, told.imsis.map(imsiHash))
    await context.db.write(async (tx) => {
      // Another instance may have taken over, and counted the same.
      if ((await attachPosition(tx, core)) !== before) return
      await keepAttachPosition(tx, core, told.position)
      await addAttaches(tx, networks)
    })
    if (!told.isWhole)
      context.log.warn({}, 'some of the log of the core was gone before attaches in it were counted')
  }

  return async (signal) => {
    const { core } = context.settings
    const position = await attachPosition(context.db, core)
    try {
      const bound = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)])
      const told = await context.maybe(coreDriverRef)?.attaches?.(position, bound)
      if (told === undefined && position !== undefined)
        await context.db.write((tx) => keepAttachPosition(tx, core, undefined))
      if (told !== undefined && told.position !== position) await keep(core, position, told)
      isFailing = false
      counters.told(await attachTotals(context.db), told?.isTelling === true)
      // The first time it has told where to begin, and of nobody.
      return told?.isTelling === true && position !== undefined
    } catch (error) {
      signal.throwIfAborted()
      if (!isFailing)
        context.log.warn({ reason: safeText(error) }, 'core did not tell of attaches; it is asked again')
      isFailing = true
      // What was not heard now is counted when it is heard.
      return position !== undefined
    }
  }
}

/** A phone that should be off and is not is cut off again at most so often. */
const AGAIN_MS = 10_000
/** First attaches at a time: they share commits. */
const ABREAST = 32

/**
 * Looks at who is attached: the first attach of a SIM, each further one, and phones that should be off. Who is there at its first look has attached before, unless its SIM says otherwise.
 *
 * A look costs a hash for each phone, and a row only for those that are new or that have moved since the look before.
 */
export function attachWatch(parts: SimsParts): (signal: AbortSignal) => Promise<void> {
  const { context } = parts
  const count = attachCount(parts)
  let before: Attached | undefined
  /** When a phone that should be off is looked at again, by hash; ms of the monotonic clock. */
  const offs = new Map<ImsiHash, number>()

  /** Writes down who came and who has gone since the look before. */
  const noteMoves = async (now: Attached): Promise<void> => {
    const came = [...now.hashes].filter((hash) => before?.hashes.has(hash) !== true)
    const gone = [...(before?.hashes ?? [])].filter((hash) => !now.hashes.has(hash))
    await noteSeen(context.db, came, now.atMs)
    await noteSeen(context.db, gone, before?.atMs ?? now.atMs)
    // Who is there at the first look came while nobody looked.
    if (before === undefined || came.length + gone.length === 0) return
    await context.observe(async (tx) =>
      tellOfSims(tx, [
        ...came.map((hash) => ({ type: 'sim.attached', hash }) as const),
        ...gone.map((hash) => ({ type: 'sim.detached', hash }) as const),
      ]),
    )
  }

  /** Who has to be looked at; `isNew`: has attached since the look before. */
  const news = (now: ReadonlySet<ImsiHash>): readonly Sighting[] => {
    const nowMs = context.clock.monotonicMs()
    for (const hash of offs.keys()) if (!now.has(hash)) offs.delete(hash)
    const moved = parts.moves.takeMoved()
    const found: Sighting[] = []
    for (const hash of now) {
      const isNew = before?.hashes.has(hash) !== true
      const isDue = (offs.get(hash) ?? Number.POSITIVE_INFINITY) <= nowMs
      if (isNew || isDue || moved.has(hash)) found.push({ hash, isNew, isBaseline: before === undefined })
    }
    return found
  }

  return async (signal) => {
    const now = await parts.attachedSet.look(signal)
    parts.counters.present(now?.hashes.size)
    const isTold = await count(signal)
    if (now === undefined) parts.moves.takeMoved()
    else {
      const pause = createPause()
      await eachAbreast(news(now.hashes), ABREAST, async (one) => {
        if (signal.aborted) return
        const isOff = await seen(parts, one, isTold).catch((error: unknown) => unreadable(parts, error))
        if (isOff) offs.set(one.hash, context.clock.monotonicMs() + AGAIN_MS)
        else offs.delete(one.hash)
        await pause()
      })
      await noteMoves(now)
    }
    if (!signal.aborted) before = now
  }
}

interface Sighting {
  readonly hash: ImsiHash
  readonly isNew: boolean
  readonly isBaseline: boolean
}

/** A row that fails its checksum is nobody's to judge by; the others are looked at. */
function unreadable({ context }: SimsParts, error: unknown): boolean {
  context.log.warn({ reason: safeText(error) }, 'a phone could not be looked at')
  return false
}

/** Says whether it is one that should be off. */
async function seen(
  parts: SimsParts,
  { hash, isNew, isBaseline }: Sighting,
  isTold: boolean,
): Promise<boolean> {
  const { context, counters } = parts
  const row = await SIMS.find(context.db, { hash })
  // A phone of a subscriber that this node does not know is not this plugin's business.
  if (row === undefined) return false
  if (wantedInHss(row.state) !== 'open') {
    await cutAgain(parts, row)
    return true
  }
  if (!isTold && isNew && (!isBaseline || row.state === 'issued')) counters.attached(row.plmn)
  if (isNew && !isBaseline) parts.seen.last = hash
  if (row.state === 'issued') await firstAttach(parts, hash)
  return false
}

async function firstAttach(parts: SimsParts, hash: ImsiHash): Promise<void> {
  const { context } = parts
  await context
    .mutate(systemPrincipal('sims'), 'sim.attach', hash, async (tx) => {
      await toldTransition(parts, tx, hash, { action: 'attach' })
    })
    .catch((error: unknown) => {
      // It was suspended or revoked in this very moment; its cut is under way.
      context.log.debug({ reason: safeText(error) }, 'attach came too late')
    })
}

/** A phone that should be off is on: cut it off again. */
async function cutAgain(parts: SimsParts, row: SimRow): Promise<void> {
  const { context } = parts
  if (row.hss_status === 'synced')
    await markDrifted(context, [
      { row, reason: 'the phone was attached although it may not be', seq: row.hss_seq },
    ])
  context.enqueue(SIM_RESOURCE, row.hash, true)
}
