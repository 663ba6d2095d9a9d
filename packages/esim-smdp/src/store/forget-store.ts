import type { Reader, Tx } from '@steeple/contracts'

const ONE_CODE = 'select token from esim_smdp_code where hash = :hash limit 1'

/** Whether there is a code of a SIM. */
export async function hasCodes(reader: Reader, hash: string): Promise<boolean> {
  return (await reader.get(ONE_CODE, { hash })) !== undefined
}

/** Removes the codes of a SIM, and which eUICC held them; says how many there were. */
export async function removeCodesOf(tx: Tx, hash: string): Promise<number> {
  await tx.run('delete from esim_smdp_held where hash = :hash', { hash })
  return await tx.run('delete from esim_smdp_code where hash = :hash', { hash })
}
