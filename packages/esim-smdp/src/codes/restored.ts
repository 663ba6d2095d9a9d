import type { Plugin } from '@steeple/contracts'
import { OPEN_STATES, openCodes } from '../store/code-queries.ts'
import { providedOf } from '../store/provider-store.ts'
import { CODES, type CodeRow, EUICCS, HELD } from '../store/rows.ts'

/** What a code is among what restores close. */
export const ESIM_CODE = 'esim_code'

type Restored = Parameters<NonNullable<Plugin['restored']>>
type Present = NonNullable<Restored[1]['present']>

const PAGE = 500

/**
 * Closes every code that the backup holds as open: since it was taken an eUICC may have got the profile, and a second one
 * would get the same keys. What the present store knows better is taken over: where profiles are, and codes that are over.
 */
export async function closeCodes(tx: Restored[0], { present, close }: Restored[1]): Promise<void> {
  // Phones begin again. What was delivered may still be told to be installed.
  await tx.run("delete from esim_smdp_session where step <> 'delivered'")
  for (let after = ''; ; ) {
    const rows = await openCodes(tx, after, PAGE)
    // A provider keeps what is used of its codes, and no restore here changes that.
    const provided = await providedOf(
      tx,
      rows.map(({ token }) => token),
    )
    for (const row of rows) {
      const over = await overNow(present, row)
      if (over !== undefined) await CODES.put(tx, over)
      else if (!provided.has(row.token)) close({ kind: ESIM_CODE, id: row.token, untilMs: row.expires_at_ms })
    }
    const last = rows.at(-1)
    if (rows.length < PAGE || last === undefined) break
    after = last.token
  }
  if (present !== undefined) await takeOverHeld(tx, present)
}

/** The code as the present store has it, if it is over there. */
async function overNow(present: Present | undefined, row: CodeRow): Promise<CodeRow | undefined> {
  const now = present === undefined ? undefined : await CODES.find(present.db, { token: row.token })
  if (now === undefined || OPEN_STATES.includes(now.state)) return undefined
  const { state, eid_hash, eid_last4, attempts, downloads, last_error, changed_at_ms } = now
  return { ...row, ...{ state, eid_hash, eid_last4, attempts, downloads, last_error, changed_at_ms } }
}

/** Where the present store says that profiles are, with the eUICCs that have them. */
async function takeOverHeld(tx: Restored[0], { db, reseal }: Present): Promise<void> {
  for (let eid = '', token = ''; ; ) {
    const rows = await HELD.select(
      db,
      'where (eid_hash, token) > (:eid, :token) order by eid_hash, token limit :limit',
      { eid, token, limit: PAGE },
    )
    for (const row of rows) {
      await HELD.put(tx, row)
      const euicc = await EUICCS.find(db, { eid_hash: row.eid_hash })
      const sealed = euicc && reseal(euicc.eid_sealed, `esim_smdp_euicc/${row.eid_hash}`)
      if (euicc !== undefined && sealed !== undefined) await EUICCS.put(tx, { ...euicc, eid_sealed: sealed })
    }
    const last = rows.at(-1)
    if (rows.length < PAGE || last === undefined) return
    eid = last.eid_hash
    token = last.token
  }
}
