import { setTimeout as delay } from 'node:timers/promises'
import type { TableSpec } from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { leftBehind } from './left-behind.ts'
import { resealTable, type SealingPass } from './reseal-table.ts'
import type { KernelVault } from './vault.ts'

/** What a rotation works on. */
export interface RotationOptions {
  readonly db: Database
  readonly vault: KernelVault
  /** Columns of the tables that carry a `row_sum`. A table with one that is not here is left alone. */
  readonly tables: readonly TableSpec[]
  /** Only finish what a rotation before left unfinished; make no new key. */
  readonly isResumeOnly?: boolean
  /** Waits until values that were sealed before the switch are on their way to the store; a second when absent. */
  readonly settle?: () => Promise<void>
  readonly signal?: AbortSignal
}

/** What a rotation did. */
export interface RotationReport {
  readonly keyId: string
  /** Values that were sealed anew. */
  readonly resealed: number
  /** Ids of replaced keys that are gone now. */
  readonly retired: readonly string[]
  /** Why replaced keys had to stay, one line each; empty when the rotation is complete. */
  readonly kept: readonly string[]
}

/** Passes until nothing is left; more than one only when values arrive meanwhile. */
const MAX_PASSES = 10
const SETTLE_MS = 1_000

/**
 * Makes a new vault key and seals everything under it, in batches, while the service runs.
 *
 * May be killed at any point: replaced keys stay on disk until no row names them, and the next call goes on where
 * this one ended instead of making yet another key. It must run in the process that serves the node (its vault
 * seals under the new key at once) or while no process serves it.
 *
 * Assumes that values are sealed with the row id `<table>/<key>`. A row that does not open is left as it is, and the
 * key that it names stays. Throws `store_unavailable`.
 */
export async function rotateVault(options: RotationOptions): Promise<RotationReport> {
  const { vault, db } = options
  const { keyring } = vault
  const isUnfinished = keyring.replaced.length > 0
  if (!isUnfinished && options.isResumeOnly === true) {
    return { keyId: vault.keyId, resealed: 0, retired: [], kept: [] }
  }
  if (!isUnfinished) keyring.replace()
  let resealed = (await onePass(options)).resealed
  await (options.settle ?? (() => delay(SETTLE_MS, undefined, signalOf(options))))()
  // What was handed to the writer before is behind it now.
  await db.transact(async () => undefined)
  let pass = await onePass(options)
  for (let count = 1; pass.resealed > 0 && count < MAX_PASSES; count++) {
    resealed += pass.resealed
    pass = await onePass(options)
  }
  resealed += pass.resealed
  const kept = [...pass.kept]
  if (pass.resealed > 0) kept.push('values are still being sealed under a replaced key; rotate again')
  else if (kept.length === 0) kept.push(...(await leftBehind(db, vault, options.signal)))
  if (kept.length > 0) return { keyId: vault.keyId, resealed, retired: [], kept }
  const retired = keyring.replaced.map(({ id }) => id)
  for (const id of retired) keyring.retire(id)
  return { keyId: vault.keyId, resealed, retired, kept }
}

function signalOf({ signal }: RotationOptions): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

async function onePass(options: RotationOptions): Promise<SealingPass> {
  const pass: SealingPass = { resealed: 0, kept: new Set() }
  for (const sealed of options.vault.registered()) await resealTable(options, sealed, pass)
  return pass
}
