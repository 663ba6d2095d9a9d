/** A document as BSON has it: numbers are `Int32`, `Long` and `Double` of `bson`, never plain. */
export type Doc = Readonly<Record<string, unknown>>

/** One write, as `bulkWrite` of the MongoDB driver and of mongosh takes it. */
export type WriteOp =
  | { readonly updateOne: Update & { readonly upsert?: boolean } }
  | { readonly updateMany: Update }
  | { readonly deleteMany: { readonly filter: Doc } }

/** `update` has operators only, never a whole document. */
interface Update {
  readonly filter: Doc
  readonly update: Doc
}

/** The server's code of a write that failed, 11000 for a duplicate. Its words can hold an IMSI and are dropped. */
export interface WriteFailure {
  readonly code: number
}

/** The code of a write that a unique index refused. */
export const DUPLICATE_KEY = 11_000

/** How often a look at the other side may be taken, ms. */
export interface ProbePace {
  readonly everyMs: number
  /** While it is away. */
  readonly awayMs: number
}

/** A document database, however it is reached. Every call throws `southbound_unavailable` or the signal's reason. */
export interface DocumentLink {
  readonly pace: ProbePace
  /** Where it leads to, for people; without credentials. */
  readonly where: string
  /** How many writes have ended, whichever way. */
  readonly writes: number
  /** Documents that match, at most `limit`, each with the fields of `projection`. */
  find(
    collection: string,
    filter: Doc,
    projection: Doc,
    signal: AbortSignal,
    limit?: number,
  ): Promise<readonly Doc[]>
  /** How many documents match. */
  count(collection: string, filter: Doc, signal: AbortSignal): Promise<number>
  /** Unordered: one write that fails keeps none of the others back. One entry per write. */
  write(
    collection: string,
    ops: readonly WriteOp[],
    signal: AbortSignal,
  ): Promise<readonly (WriteFailure | undefined)[]>
  /** Makes an index. `conflict`: the documents or another index do not allow it. */
  ensureIndex(
    collection: string,
    field: string,
    isUnique: boolean,
    signal: AbortSignal,
  ): Promise<'ok' | 'conflict'>
  /** Removes a collection that is there. */
  drop(collection: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}
