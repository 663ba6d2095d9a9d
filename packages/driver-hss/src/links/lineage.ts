import { randomUUID } from 'node:crypto'
import { Int32 } from 'bson'
import type { DocumentLink } from './document-link.ts'

/** The collection and the one document that say which database this is; no core looks at them. */
const COLLECTION = 'steeple'
const MARK = { _id: 'generation' }

/** Which database this is. */
interface Lineage {
  /** How often it was found to be another than it was left. */
  look(signal: AbortSignal): Promise<number>
  /** Takes the mark away. There is none until something else is written again. */
  release(signal: AbortSignal): Promise<void>
}

interface Mark {
  readonly id: string
  readonly turn: number
}

/**
 * A mark in the database has an identity and a turn, which goes on after writes: who finds no mark, another one or an
 * earlier turn looks at a database that was emptied, replaced or restored. One whose `subscribers` have all gone was
 * emptied, too. Without the right to read and write a mark only that is seen. There is no mark before this process has written
 * something else: a database that is only looked at stays as it is.
 *
 * Its functions throw as the link does.
 */
export function lineageOf(link: DocumentLink, subscribers: string): Lineage {
  let known: Mark | undefined
  let wasEmpty = true
  /** Writes that the turn of the mark stands for, this file's own ones among them. */
  let marked = link.writes
  let changes = 0
  const read = async (signal: AbortSignal): Promise<Mark | 'none' | 'unread'> => {
    try {
      const [doc] = await link.find(COLLECTION, MARK, { id: 1, turn: 1 }, signal, 1)
      return doc === undefined ? 'none' : { id: String(doc.id), turn: Number(doc.turn) }
    } catch {
      signal.throwIfAborted()
      return 'unread' // it may not be read: whether the database answers, its subscribers say
    }
  }
  const write = async (mark: Mark, signal: AbortSignal): Promise<Mark | undefined> => {
    marked += 1
    try {
      const update = { $set: { id: mark.id, turn: new Int32(mark.turn) } }
      const [failure] = await link.write(
        COLLECTION,
        [{ updateOne: { filter: MARK, update, upsert: true } }],
        signal,
      )
      return failure === undefined ? mark : undefined
    } catch {
      signal.throwIfAborted()
      return undefined // whoever may not write here still sees an emptied one
    }
  }
  const look = async (signal: AbortSignal): Promise<number> => {
    // First: a database that is away says so here, and is not waited for twice.
    const [one] = await link.find(subscribers, {}, { _id: 1 }, signal, 1)
    const found = await read(signal)
    const isEmpty = one === undefined
    if (isAnother(found, known) || (isEmpty && !wasEmpty)) changes += 1
    wasEmpty = isEmpty
    if (found === 'unread') return changes
    const isBehind = link.writes !== marked
    // What is written from here on, the turn below may not hold: the next look makes another.
    marked = link.writes
    if (found === 'none') known = isBehind ? await write({ id: randomUUID(), turn: 1 }, signal) : undefined
    else known = isBehind ? await write({ id: found.id, turn: found.turn + 1 }, signal) : found
    return changes
  }
  const release = async (signal: AbortSignal): Promise<void> => {
    // Not every server forgives a collection that is not there; what may not be read is not ours either.
    if (typeof (await read(signal)) === 'object') await link.drop(COLLECTION, signal)
    known = undefined
    marked = link.writes
  }
  return { look, release }
}

/** Whether the mark that was found cannot be the one that was left; one that was not read tells nothing. */
function isAnother(found: Mark | 'none' | 'unread', known: Mark | undefined): boolean {
  if (known === undefined || found === 'unread') return false
  return found === 'none' || found.id !== known.id || found.turn < known.turn
}
