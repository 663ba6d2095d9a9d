import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineTable, type Log, type Table } from '@steeple/contracts'
import { type Database, openDatabase } from '@steeple/store'
import { createVault, type KernelVault, openKeyring } from '../src/vault.ts'

/** A row with two sealed values, one of which may be absent. */
export interface SecretRow {
  readonly id: string
  readonly label: string
  readonly ki: Uint8Array
  readonly opc: Uint8Array | null
}

export const SECRETS: Table<SecretRow> = defineTable<SecretRow>(
  'sims_secrets',
  ['id', 'label', 'ki', 'opc'],
  ['id'],
)

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** A node's keys and store in one directory, as far as a rotation needs them. */
export interface Bench {
  readonly keys: string
  readonly db: Database
  readonly vault: KernelVault
}

/** Opens it, making what is absent. */
export async function openBench(path: string): Promise<Bench> {
  const keys = join(path, 'keys')
  mkdirSync(keys, { recursive: true, mode: 0o700 })
  if (!existsSync(join(keys, 'vault.key')))
    writeFileSync(join(keys, 'vault.key'), randomBytes(32), { mode: 0o600 })
  const vault = createVault(openKeyring(keys))
  vault.register({ table: SECRETS.name, key: 'id', columns: ['ki', 'opc'] })
  const db = await openDatabase({
    url: `sqlite:${join(path, 'svc.db')}`,
    clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
    log: silent,
  })
  await db.migrate('sims', [
    {
      id: '0001_secrets',
      up: [
        'create table sims_secrets (id text primary key, label text not null, ki bytea not null, opc bytea, row_sum bigint not null)',
      ],
    },
  ])
  return { keys, db, vault }
}

/** What the row says in plain. */
export function plainOf(id: string): string {
  return `ki of ${id}`
}

/** The row of an id, sealed under the current key. */
export function sealedRow(vault: KernelVault, id: string): SecretRow {
  const rowId = `${SECRETS.name}/${id}`
  const ki = vault.seal(Buffer.from(plainOf(id)), rowId)
  return {
    id,
    label: `label ${id}`,
    ki,
    opc: id.endsWith('7') ? null : vault.seal(Buffer.from(`opc of ${id}`), rowId),
  }
}

/** Adds rows `<prefix>0000` and on. */
export async function addRows({ db, vault }: Bench, count: number, prefix = 'r'): Promise<void> {
  await db.transact(async (tx) => {
    for (let index = 0; index < count; index++) {
      await SECRETS.insert(tx, sealedRow(vault, `${prefix}${String(index).padStart(4, '0')}`))
    }
  })
}
