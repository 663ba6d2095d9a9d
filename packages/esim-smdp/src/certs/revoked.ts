import { type Certificate, isListSignedBy, publicKeyOf, type RevocationList } from '@steeple/sgp22'
import type { FoundInFiles } from './files.ts'

/** What a revoked certificate is known by: its issuer's key identifier and its serial number, whatever zeros are in front. */
export function revocationId(issuerKeyId: string, serial: string): string {
  return `${issuerKeyId.toLowerCase()} ${serial.toLowerCase().replace(/^0+(?=.)/, '')}`
}

/** That of a certificate; empty when it does not name its issuer's key. */
export function revocationIdOf({ authorityKeyId, serial }: Certificate): string {
  return authorityKeyId === undefined ? '' : revocationId(authorityKeyId, serial)
}

/** Why a revocation list is refused, undefined when it is not. One that is old is true all the same: nothing comes back. */
export function listProblem(list: RevocationList, cis: readonly Certificate[]): string | undefined {
  const above = cis.filter(({ subjectKeyId }) => subjectKeyId === list.authorityKeyId)
  if (above.length === 0)
    return `is the revocation list of the key ${list.authorityKeyId}, and no CERT.CI with it is here; add that CERT.CI`
  if (!above.some((ci) => ci.keyUsage.includes('cRLSign') && isListSignedBy(list, publicKeyOf(ci))))
    return 'is a revocation list that is not signed by the CERT.CI that it names; it is changed'
  return undefined
}

/** What good lists revoke, each once. */
export function revocationsIn(lists: FoundInFiles['lists']): ReadonlySet<string> {
  return new Set(
    lists.flatMap(({ list }) => list.serials.map((serial) => revocationId(list.authorityKeyId, serial))),
  )
}
