import { allListed, type ImsiHash, type Reader, type Tx } from '@steeple/contracts'
import { putSql } from './used-store.ts'

/** What was told and done of a SIM with a quota. */
export interface QuotaState {
  readonly hash: string
  /** The epoch in which its totals were last made from the ledger; those of another one may lack something. */
  readonly counted: string
  /** For which period and allowance the 80 % and 100 % were told. */
  readonly warned: string | null
  readonly exceeded: string | null
  /** How it is held off now, and since which period. */
  readonly held: 'suspend' | 'throttle' | null
  readonly held_from_ms: number | null
  readonly held_bps: number | null
}

/** A SIM of which nothing was told or done yet. */
export function newQuotaState(hash: string): QuotaState {
  return {
    hash,
    counted: '',
    warned: null,
    exceeded: null,
    held: null,
    held_from_ms: null,
    held_bps: null,
  }
}

const COLUMNS = ['hash', 'counted', 'warned', 'exceeded', 'held', 'held_from_ms', 'held_bps'] as const
const PUT = putSql('fair_use_standing', COLUMNS, 1)

export async function putQuotaState(tx: Tx, quotaState: QuotaState): Promise<void> {
  await tx.run(PUT, { ...quotaState })
}

const LET_GO = `update fair_use_standing set held = null, held_from_ms = null
  where hash = :hash and held = 'suspend'`

/** Its quota no longer keeps a SIM off; a rate that it is held to stays. */
export async function letGo(tx: Tx, hash: string): Promise<void> {
  await tx.run(LET_GO, { hash })
}

/** The standings of SIMs; of one without a row a new one. */
export async function quotaStatesOf(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, QuotaState>> {
  const sql = `select ${COLUMNS.join(', ')} from fair_use_standing where `
  const rows = await allListed<QuotaState>(reader, 'hash', hashes, (where) => sql + where)
  return new Map([...hashes.map(newQuotaState), ...rows].map((state) => [state.hash, state]))
}

/** At most `limit` SIMs behind `after` that their quota has suspended, by hash. */
export async function heldOffAfter(
  reader: Reader,
  after: string,
  limit: number,
): Promise<readonly ImsiHash[]> {
  const sql = `select hash from fair_use_standing where held = 'suspend' and hash > :after
    order by hash limit :limit`
  return (await reader.all<{ readonly hash: ImsiHash }>(sql, { after, limit })).map(({ hash }) => hash)
}

const BUMP = `insert into fair_use_epoch (id, epoch) values ('counting', :epoch)
  on conflict (id) do update set epoch = excluded.epoch`

/** Begins an epoch: all totals are to be made from the ledger again. */
export async function beginEpoch(tx: Tx, epoch: string): Promise<void> {
  await tx.run(BUMP, { epoch })
}

export async function epochNow(reader: Reader): Promise<string> {
  const sql = "select epoch from fair_use_epoch where id = 'counting'"
  return (await reader.get<{ readonly epoch: string }>(sql))?.epoch ?? ''
}
