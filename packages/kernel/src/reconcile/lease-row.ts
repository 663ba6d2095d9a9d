import type { Reader } from '@steeple/contracts'
import type { WriterTx } from '@steeple/store'

/** Who holds the lease, by the database's own time. */
export interface LeaseRow {
  /** A random id for each process; empty when nobody holds it. */
  readonly holder: string
  readonly name: string
  /** Fingerprint of the holder's keys: instances of one store have the same. */
  readonly keys: string
  readonly epoch: number
  /** Grows with each renewal, so that others see one without comparing clocks. */
  readonly renewals: number
  readonly expires_at_ms: number
  readonly now_ms: number
}

/** The tables of a store that instances share: the lease, and keys that one of them leaves for another. */
export const LEASE_DDL: readonly string[] = [
  `create table if not exists kernel_lease (id integer not null primary key, holder text not null, name text not null, keys text not null,
    epoch bigint not null, renewals bigint not null, expires_at_ms bigint not null)`,
  `insert into kernel_lease (id, holder, name, keys, epoch, renewals, expires_at_ms) values (1, '', '', '', 0, 0, 0)
    on conflict do nothing`,
  `create table if not exists kernel_wanted (id text not null primary key, resource text not null, keys text not null,
    at_ms bigint not null)`,
]

/** One clock for all: not the transaction's beginning, which may be long ago. */
const NOW = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'
const READ = `select holder, name, keys, epoch, renewals, expires_at_ms, ${NOW} as now_ms from kernel_lease where id = 1`
const RENEW = `update kernel_lease set renewals = renewals + 1, expires_at_ms = ${NOW} + :ttl
  where id = 1 and holder = :holder and epoch = :epoch returning epoch`
const TAKE = `update kernel_lease set holder = :holder, name = :name, keys = :keys, epoch = epoch + 1, renewals = 0,
  expires_at_ms = ${NOW} + :ttl
  where id = 1 and epoch = :epoch and renewals = :renewals`
const RELEASE = `update kernel_lease set holder = '' where id = 1 and holder = :holder and epoch = :epoch
  returning epoch`
const EPOCH = 'select holder, epoch from kernel_lease where id = 1'

/** The lease as it is now; undefined in a store from before there was one. */
export async function readLease(reader: Pick<Reader, 'all'>): Promise<LeaseRow | undefined> {
  return (await reader.all<LeaseRow>(READ))[0]
}

/** Prolongs it. False: somebody else has it. */
export async function renewLease(
  reader: Pick<Reader, 'all'>,
  mine: { readonly holder: string; readonly epoch: number; readonly ttl: number },
): Promise<boolean> {
  return (await reader.all(RENEW, { ...mine })).length === 1
}

/**
 * Takes it from a holder that has not renewed it since it was seen so. In the writer alone: an epoch never changes while
 * another transaction of the writers goes on.
 */
export async function takeLease(
  tx: WriterTx,
  by: { readonly holder: string; readonly name: string; readonly keys: string; readonly ttl: number },
  { epoch, renewals }: LeaseRow,
): Promise<boolean> {
  return (await tx.run(TAKE, { ...by, epoch, renewals })) === 1
}

/** Gives it back. */
export async function releaseLease(
  reader: Pick<Reader, 'all'>,
  mine: { readonly holder: string; readonly epoch: number },
): Promise<void> {
  await reader.all(RELEASE, { ...mine })
}

/** The epoch that a transaction of the writer commits under. */
export async function epochOf(tx: WriterTx): Promise<{ readonly holder: string; readonly epoch: number }> {
  return (await tx.get<{ holder: string; epoch: number }>(EPOCH)) ?? { holder: '', epoch: 0 }
}
