import { onlyAuthority } from '../certs/authority.ts'
import type { EsimParts } from '../parts.ts'
import { adoptEarlier } from '../store/adopt-store.ts'
import { euiccId, type NamedEuicc } from '../store/euicc-store.ts'

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
