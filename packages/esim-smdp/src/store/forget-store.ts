import type { Reader, Tx } from '@steeple/contracts'

const ONE_CODE = 'select token from esim_smdp_code where hash = :hash limit 1'

/** Whether there is a code of a SIM. */
export async function hasCodes(reader: Reader, hash: string): Promise<boolean> {
  return (await reader.get(ONE_CODE, { hash })) !== undefined
}

const TOKENS = '(select token from esim_smdp_code where hash = :hash)'
/** What names a code, and by it the eUICC that came for it. */
const OF_CODES: readonly string[] = [
  `delete from esim_smdp_notice where token in ${TOKENS}`,
  `delete from esim_smdp_session where token in ${TOKENS}`,
  `delete from esim_smdp_progress where token in ${TOKENS}`,
  `delete from esim_smdp_order where token in ${TOKENS}`,
]
const EUICCS_OF = `select eid_hash from esim_smdp_held where hash = :hash
  union select eid_hash from esim_smdp_code where hash = :hash and eid_hash is not null`
const STRANGER = `delete from esim_smdp_euicc where eid_hash = :eid
  and not exists (select 1 from esim_smdp_held where eid_hash = :eid)
  and not exists (select 1 from esim_smdp_code where eid_hash = :eid)`

/**
 * Removes the codes of a SIM, its orders, what eUICCs have told of them, and the EIDs of those that have nothing else of ours;
 * says how many codes there were.
 */
export async function removeCodesOf(tx: Tx, hash: string): Promise<number> {
  const euiccs = await tx.all<{ readonly eid_hash: string }>(EUICCS_OF, { hash })
  for (const sql of OF_CODES) await tx.run(sql, { hash })
  await tx.run('delete from esim_smdp_held where hash = :hash', { hash })
  const codes = await tx.run('delete from esim_smdp_code where hash = :hash', { hash })
  for (const { eid_hash: eid } of euiccs) await tx.run(STRANGER, { eid })
  return codes
}
