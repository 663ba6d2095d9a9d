import type { Reader, Tx, Vault } from '@steeple/contracts'
import { type Authority, onlyAuthority } from '../certs/authority.ts'
import type { EsimParts } from '../parts.ts'
import { PROGRESS } from './es2-store.ts'
import { eidOfRow, euiccId, type NamedEuicc } from './euicc-store.ts'
import { CODES, EUICCS, HELD, NOTICES, SESSIONS } from './rows.ts'

const IS_KNOWN = `select 1 as known from esim_smdp_euicc where eid_hash = :plain
  union select 1 as known from esim_smdp_code where eid_hash = :plain
  union select 1 as known from esim_smdp_held where eid_hash = :plain`
const WAS_SERVED = 'select tid from esim_smdp_session where eid_hash = :plain and ci_pkid = :ci limit 1'
const OF_IT = 'where eid_hash = :plain'

/**
 * Earlier versions knew eUICCs by their EID alone. What they have stored of this one gets the name that it has now, if it can
 * only be about this one: no other authority was ever believed here, or a session of that time was under this CI. One whose CI is
 * published inherits nothing beside others.
 */
export async function adoptEarlier(
  { context, certs, vault }: Pick<EsimParts, 'context' | 'certs' | 'vault'>,
  euicc: NamedEuicc,
): Promise<void> {
  const { authority, eid } = euicc
  if (authority === 'own') return
  const plain = euiccId('own', eid)
  const { db } = context
  if ((await db.get(IS_KNOWN, { plain })) === undefined) return
  const isOnly = onlyAuthority([...certs.identities(), ...certs.identitiesHeld()]) === authority
  if (!isOnly && (authority === 'test' || !(await wasServed(db, plain, authority)))) return
  await db.write((tx) => rename(tx, vault, plain, euicc))
}

async function wasServed(reader: Reader, plain: string, ci: Authority): Promise<boolean> {
  return (await reader.get(WAS_SERVED, { plain, ci })) !== undefined
}

async function rename(
  tx: Tx,
  vault: Vault,
  plain: string,
  { hash, authority, eid }: NamedEuicc,
): Promise<void> {
  const eid_hash = hash
  const known = await EUICCS.find(tx, { eid_hash: plain })
  if (known !== undefined && eidOfRow(vault, known) === eid) {
    const eid_sealed = vault.seal(Buffer.from(eid), `esim_smdp_euicc/${hash}`)
    await EUICCS.insertNew(tx, { ...known, eid_hash, eid_sealed, authority })
    await EUICCS.remove(tx, { eid_hash: plain })
  }
  for (const row of await HELD.select(tx, OF_IT, { plain })) {
    await HELD.insertNew(tx, { ...row, eid_hash })
    await HELD.remove(tx, { eid_hash: plain, token: row.token })
  }
  for (const row of await NOTICES.select(tx, OF_IT, { plain })) {
    await NOTICES.insertNew(tx, { ...row, eid_hash })
    await NOTICES.remove(tx, { eid_hash: plain, seq: row.seq })
  }
  for (const row of await CODES.select(tx, OF_IT, { plain }))
    await CODES.change(tx, row, { ...row, eid_hash })
  for (const row of await SESSIONS.select(tx, OF_IT, { plain }))
    await SESSIONS.change(tx, row, { ...row, eid_hash })
  for (const row of await PROGRESS.select(tx, OF_IT, { plain }))
    await PROGRESS.change(tx, row, { ...row, eid_hash })
}

/** Why an EID names no eUICC here. */
export type EidProblem = 'ci_unknown' | 'ci_needed'

/**
 * The eUICC that an order for an EID is about: of the CI that it names, else of the only authority in use here, a published
 * one aside. An EID alone says nothing where several can give it.
 */
export async function boundEid(
  parts: Pick<EsimParts, 'context' | 'certs' | 'vault'>,
  eid: string,
  ciPkid?: string,
): Promise<NamedEuicc | EidProblem> {
  const sets = parts.certs.identities()
  const authority =
    ciPkid === undefined
      ? onlyAuthority(sets)
      : sets.find((set) => set.ciPkid === ciPkid.toLowerCase())?.authority
  if (authority === undefined) return ciPkid === undefined ? 'ci_needed' : 'ci_unknown'
  const euicc = { eid, authority, hash: euiccId(authority, eid) }
  await adoptEarlier(parts, euicc)
  return euicc
}
