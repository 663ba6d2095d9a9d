import { createHmac, createSecretKey } from 'node:crypto'
import {
  type Context,
  defineTable,
  overLimit,
  type Reader,
  type SessionKeys,
  type SqlParams,
  type Table,
  type TableSpec,
  type Tx,
} from '@steeple/contracts'
import { nameKey } from './user-store.ts'

interface FailureRow {
  readonly network: string
  /** HMAC of the name: who types a password in its place leaves nothing to read. */
  readonly name_hash: string
  readonly failures: number
  readonly last_at_ms: number
}
interface KnownRow {
  readonly user_id: string
  readonly network: string
  readonly at_ms: number
}

/** One try to log in: by whom, from where. */
export interface Attempt {
  readonly name: string
  readonly network: string
  /** The user of that name, if there is one. */
  readonly userId: string | undefined
}

/** What an attempt did to the counts. */
interface AttemptState {
  /** It was the one that locks if it fails: of the name (at a known network: there) or of the network. */
  readonly locks: 'name' | 'network' | undefined
}

/** What counts against an attempt, below what refuses it. */
interface Failures {
  readonly isKnown: boolean
  readonly ofNetwork: number
  readonly ofName: number
}

/** Counts failed logins. Contract section 1: five within 15 minutes for a name or an address. */
export interface Lockout {
  /** Throws `rate_limited` when the name or the network is locked. Changes nothing; says whether the user was there before. */
  refuse(attempt: Attempt): Promise<{ readonly isKnown: boolean }>
  /** As `refuse`, and counts the attempt as failed until `succeeded` says otherwise: two at once are two. */
  begin(attempt: Attempt): Promise<AttemptState>
  /** Counts a failure of the network alone: what it tried has no name. Throws `rate_limited` when that is locked. */
  beginOfNetwork(attempt: Attempt): Promise<void>
  /** As if the attempt that has begun had never been: it did not fail, and nobody got in. */
  takeBack(attempt: Attempt): Promise<void>
  /** In the transaction of the login. */
  succeeded(tx: Tx, attempt: Attempt, nowMs: number): Promise<void>
  /** Removes what counts no more. */
  sweep(): Promise<void>
}

const MOST_FAILURES = 5
const WINDOW_MS = 900_000
/** As header fields say it. */
const LIMIT = { name: 'failed_logins', limit: MOST_FAILURES, windowS: WINDOW_MS / 1_000 }
/** For so long a network from which somebody has logged in is known. */
const KNOWN_MS = 90 * 86_400_000

const FAILURES: Table<FailureRow> = defineTable(
  'access_login_failure',
  ['network', 'name_hash', 'failures', 'last_at_ms'],
  ['network', 'name_hash'],
)
const KNOWN: Table<KnownRow> = defineTable(
  'access_known_network',
  ['user_id', 'network', 'at_ms'],
  ['user_id', 'network'],
)

/** The tables of failed logins, for the integrity scan. */
export const LOCKOUT_TABLES: readonly TableSpec[] = [FAILURES, KNOWN]

/**
 * Locks without locking anybody out for good.
 *
 * - A network that has failed five times within 15 minutes, whatever the names, is refused until the oldest failure of
 *   its streak is over: 15 minutes after the last one that was counted. Refused tries do not count.
 * - A name that has failed five times, from whatever networks, is refused likewise.
 * - Where its user has logged in within the last 90 days, only failures in that name from that network count for a name:
 *   neither strangers who fail in it nor a guest who fails in other names behind the same NAT keep its user out.
 * - A login clears the failures of its own name from its own network alone: nobody gets tries at another name by logging
 *   in as himself, and nobody gets more tries because the one whose name it is logs in elsewhere.
 */
export function createLockout(context: Pick<Context, 'db' | 'clock'>, keys: SessionKeys): Lockout {
  const { db, clock } = context
  const bytes = Buffer.from(keys.derive('login names'))
  const key = createSecretKey(bytes)
  bytes.fill(0)
  const hashOf = (name: string): string => createHmac('sha256', key).update(nameKey(name)).digest('hex')
  const failuresOf = (reader: Reader, of: string, params: SqlParams): Promise<readonly FailureRow[]> =>
    FAILURES.select(reader, `where ${of} and last_at_ms > :since_ms`, {
      ...params,
      since_ms: clock.nowMs() - WINDOW_MS,
    })
  const lookAt = async (reader: Reader, of: string, params: SqlParams): Promise<number> => {
    const rows = await failuresOf(reader, of, params)
    refuseOver(rows, clock.nowMs())
    return sumOf(rows)
  }
  const lookAtNetwork = (reader: Reader, { network }: Attempt): Promise<number> =>
    lookAt(reader, 'network = :network', { network })
  const look = async (reader: Reader, attempt: Attempt): Promise<Failures> => {
    const { network } = attempt
    const name_hash = hashOf(attempt.name)
    if (await isKnownNetwork(reader, attempt, clock.nowMs())) {
      const own = await lookAt(reader, 'network = :network and name_hash = :name_hash', {
        network,
        name_hash,
      })
      return { isKnown: true, ofNetwork: 0, ofName: own }
    }
    return {
      isKnown: false,
      ofNetwork: await lookAtNetwork(reader, attempt),
      ofName: await lookAt(reader, 'name_hash = :name_hash', { name_hash }),
    }
  }
  const count = async (tx: Tx, { network, name }: Attempt): Promise<void> => {
    const key = { network, name_hash: hashOf(name) }
    const known = await FAILURES.find(tx, key)
    const nowMs = clock.nowMs()
    const isFresh = known !== undefined && known.last_at_ms > nowMs - WINDOW_MS
    await FAILURES.put(tx, { ...key, failures: (isFresh ? known.failures : 0) + 1, last_at_ms: nowMs })
  }
  return {
    refuse: (attempt) => look(db, attempt),
    begin: (attempt) =>
      db.write(async (tx) => {
        const { ofNetwork, ofName } = await look(tx, attempt)
        await count(tx, attempt)
        if (ofNetwork + 1 >= MOST_FAILURES) return { locks: 'network' }
        return { locks: ofName + 1 >= MOST_FAILURES ? 'name' : undefined }
      }),
    beginOfNetwork: (attempt) =>
      db.write(async (tx) => {
        await lookAtNetwork(tx, attempt)
        await count(tx, attempt)
      }),
    takeBack: ({ network, name }) =>
      db.write(async (tx) => {
        const key = { network, name_hash: hashOf(name) }
        const row = await FAILURES.find(tx, key)
        if (row === undefined) return
        if (row.failures > 1) await FAILURES.put(tx, { ...row, failures: row.failures - 1 })
        else await FAILURES.remove(tx, key)
      }),
    succeeded: async (tx, { name, network, userId }, nowMs) => {
      await FAILURES.remove(tx, { network, name_hash: hashOf(name) })
      if (userId !== undefined) await KNOWN.put(tx, { user_id: userId, network, at_ms: nowMs })
    },
    sweep: () =>
      db.write(async (tx) => {
        const nowMs = clock.nowMs()
        await tx.run('delete from access_login_failure where last_at_ms <= :before_ms', {
          before_ms: nowMs - WINDOW_MS,
        })
        await tx.run('delete from access_known_network where at_ms <= :before_ms', {
          before_ms: nowMs - KNOWN_MS,
        })
      }),
  }
}

/** Forgets the networks that a user has logged in from. */
export async function forgetNetworks(tx: Tx, userId: string): Promise<void> {
  await tx.run('delete from access_known_network where user_id = :user_id', { user_id: userId })
}

async function isKnownNetwork(reader: Reader, { userId, network }: Attempt, nowMs: number): Promise<boolean> {
  const row = await KNOWN.find(reader, { user_id: userId ?? '', network })
  return row !== undefined && row.at_ms > nowMs - KNOWN_MS
}

function sumOf(rows: readonly FailureRow[]): number {
  return rows.reduce((sum, { failures }) => sum + failures, 0)
}

function refuseOver(rows: readonly FailureRow[], nowMs: number): void {
  if (sumOf(rows) < MOST_FAILURES) return
  const lastMs = Math.max(...rows.map(({ last_at_ms }) => last_at_ms))
  const resetS = Math.max(1, Math.ceil((lastMs + WINDOW_MS - nowMs) / 1_000))
  const message = 'too many failed logins; wait, or log in from where you have logged in before'
  throw overLimit(message, { ...LIMIT, resetS })
}
