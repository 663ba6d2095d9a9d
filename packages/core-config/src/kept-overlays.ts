import { randomUUID } from 'node:crypto'
import {
  type Context,
  type CoreDriver,
  defineTable,
  type Migration,
  nodeIdentityRef,
  systemPrincipal,
  type Table,
  type TableSpec,
  type Tx,
  vaultRef,
} from '@steeple/contracts'

/** The operator's overlays of a core, so that a backup has them; sealed, since they can hold the password of its database. */
interface OverlaysRow {
  readonly core: string
  /** The one beside the overlays themselves: with another there, this row comes from a backup. */
  readonly mark: string
  readonly content: Uint8Array
}

const OVERLAYS: Table<OverlaysRow> = defineTable<OverlaysRow>(
  'core_config_overlays',
  ['core', 'mark', 'content'],
  ['core'],
)
export const TABLES: readonly TableSpec[] = [OVERLAYS]

export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_overlays',
    up: [
      `create table core_config_overlays (
        core text not null primary key,
        mark text not null,
        content bytea not null,
        row_sum bigint not null
      )`,
    ],
  },
]

/** For `svc vault rotate`. */
export function registerOverlays(context: Context): void {
  context.use(vaultRef).register({ table: OVERLAYS.name, key: 'core', columns: ['content'] })
}

/** The operator has the files from before back, and no overlays. */
export async function forgetOverlays(tx: Tx, core: string): Promise<void> {
  await OVERLAYS.remove(tx, { core })
}

/**
 * Keeps the operator's overlays in the store, and has them back where a backup was restored or their place is a new one. Otherwise
 * the files are right: an operator edits them.
 */
export async function syncOverlays(context: Context, driver: CoreDriver, signal: AbortSignal): Promise<void> {
  const { core, southbound } = context.settings
  if (southbound.driver === 'none' || driver.overlays === undefined || driver.putOverlays === undefined)
    return
  const vault = context.use(vaultRef)
  const seal = `${OVERLAYS.name}/${core}`
  const [there, row] = [await driver.overlays(signal), await OVERLAYS.find(context.db, { core })]
  if (row === undefined && there.text === '') return
  const kept = row === undefined ? undefined : Buffer.from(vault.open(row.content, seal)).toString()
  if (row !== undefined && kept === there.text) {
    if (there.mark !== row.mark) await driver.putOverlays(row.mark, undefined, signal)
    return
  }
  const isRestored = there.mark === undefined ? there.isNew && there.text === '' : there.mark !== row?.mark
  if (row !== undefined && kept !== undefined && isRestored) {
    await driver.putOverlays(row.mark, kept, signal)
    await audit(context, core)
    return
  }
  const mark = randomUUID()
  await context.db.write(async (tx) => {
    if (there.text === '') await OVERLAYS.remove(tx, { core })
    else await OVERLAYS.put(tx, { core, mark, content: vault.seal(Buffer.from(there.text), seal) })
  })
  if (there.text !== '') await driver.putOverlays(mark, undefined, signal)
}

async function audit(context: Context, core: string): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  await context.mutate(systemPrincipal('core_config'), 'core.overlays_restored', target, async (tx) => {
    tx.audit({ detail: { core } })
  })
}
