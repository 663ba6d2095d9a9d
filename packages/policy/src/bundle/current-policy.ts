import {
  type ComponentHealth,
  type Context,
  isServiceError,
  type PolicyBundle,
  type PolicyReader,
  policyRef,
  type Reader,
  storeCorrupt,
  type Tx,
  timestampFromMs,
} from '@steeple/contracts'
import { addBundle, type BundleRow, hasBundle, newestBundle } from '../store.ts'
import { defaultContent, type PolicyContent } from './bundle-schema.ts'

/** The policy in force on this instance, kept in memory and re-read from the store. */
export interface CurrentPolicy extends PolicyReader {
  /** The bundle as the store has it now, taken over. Throws `store_corrupt`. */
  refresh(): Promise<PolicyBundle>
  /** The bundle as a transaction sees it. Throws `store_corrupt`. */
  read(reader: Reader): Promise<PolicyBundle>
  /** Whether a first revision is stored, intact or not. */
  isStored(): Promise<boolean>
  /** Stores the default policy as revision 1 unless there is one. */
  writeFirst(tx: Tx): Promise<void>
  /** Writes the next revision; `bundle()` gives it from the commit on. */
  write(tx: Tx, content: PolicyContent, author: { by: string; nowMs: number }): Promise<PolicyBundle>
  /** Whether the last look at the store found an intact policy. */
  health(): ComponentHealth
}

/**
 * Reads the policy of this node; before its first start that is the default one, as revision 1.
 *
 * A store whose newest revision is corrupt does not stop the start: then `bundle()` and everything that needs the
 * policy throw `store_corrupt` until a backup is restored, and the health says so.
 */
export async function openPolicy(context: Context): Promise<CurrentPolicy> {
  const policy = policyOf(context)
  try {
    await policy.refresh()
  } catch (error) {
    if (!isServiceError(error) || error.code !== storeCorrupt.code) throw error
    context.log.error({ err: error }, 'stored policy is corrupt and is not served')
  }
  return policy
}

function policyOf(context: Context): CurrentPolicy {
  const { db, clock, settings } = context
  const first: PolicyBundle = {
    ...defaultContent([...new Set(settings.policy.apns)]),
    revision: 1,
    updated_at: timestampFromMs(clock.nowMs()),
  }
  let current: { readonly content: string | undefined; readonly bundle: PolicyBundle } | undefined
  let problem: string | undefined
  let adoptions = 0
  const adopt = (row: BundleRow | undefined): PolicyBundle => {
    const revision = row?.revision ?? first.revision
    if (current?.bundle.revision !== revision || current.content !== row?.content) {
      current = { content: row?.content, bundle: bundleOf(row, first) }
      adoptions += 1
      context.changed(policyRef)
    }
    return current.bundle
  }
  return {
    bundle: () => {
      if (current === undefined) throw storeCorrupt('policy_bundle')
      return current.bundle
    },
    refresh: async () => {
      const adoptionsBefore = adoptions
      try {
        const row = await newestBundle(db)
        problem = undefined
        // A commit of this instance that came during the read is newer than what was read.
        return current !== undefined && adoptions !== adoptionsBefore ? current.bundle : adopt(row)
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error)
        throw error
      }
    },
    read: async (reader) => bundleOf(await newestBundle(reader), first),
    isStored: () => hasBundle(db),
    writeFirst: async (tx) => {
      if (await hasBundle(tx)) return
      const { revision, updated_at, ...content } = first
      const row = rowOf(revision, content, { by: 'system:policy', nowMs: Date.parse(updated_at) })
      await addBundle(tx, row)
      tx.afterCommit(() => adopt(row))
    },
    write: async (tx, content, author) => {
      const before = bundleOf(await newestBundle(tx), first)
      const row = rowOf(before.revision + 1, content, author)
      await addBundle(tx, row)
      tx.afterCommit(() => adopt(row))
      return bundleOf(row, first)
    },
    health: () => ({
      name: 'policy',
      kind: 'feature',
      status: problem === undefined ? 'ok' : 'down',
      detail: problem ?? `revision ${current?.bundle.revision ?? 0}`,
      required: true,
    }),
  }
}

function rowOf(revision: number, content: PolicyContent, author: { by: string; nowMs: number }): BundleRow {
  return {
    revision,
    updated_at_ms: author.nowMs,
    updated_by: author.by,
    content: JSON.stringify(content),
  }
}

function bundleOf(row: BundleRow | undefined, first: PolicyBundle): PolicyBundle {
  if (row === undefined) return first
  // Written by `rowOf` alone, from a PolicyContent; the row's checksum has been verified.
  const content = JSON.parse(row.content) as PolicyContent
  // A revision from before a limit came has the limit's default.
  const rate_limits = { ...first.rate_limits, ...content.rate_limits }
  return { ...content, rate_limits, revision: row.revision, updated_at: timestampFromMs(row.updated_at_ms) }
}
