import {
  type AuthenticatedPrincipal,
  type CertificateHolders,
  certificateRevoked,
  expandRoles,
  type Reader,
  type Role,
} from '@steeple/contracts'
import { findUser, rolesOfUser } from '../people/user-store.ts'
import { findCertificate } from './certificate-store.ts'

/** The user with that id as a certificate stands for it; undefined when there is none. */
export async function findHolder(reader: Reader, userId: string): Promise<Holder | undefined> {
  const user = await findUser(reader, userId)
  return user === undefined ? undefined : { id: user.id, name: user.name, roles: rolesOfUser(user) }
}

/** What a certificate's holder is, of the user that it names. */
export interface Holder {
  readonly id: string
  readonly name: string
  readonly roles: readonly Role[]
}

/** Looks users up by id; undefined when there is none. */
type FindHolder = (reader: Reader, userId: string) => Promise<Holder | undefined>

export interface OperatorCertificateParts {
  readonly reader: Reader
  /** SHA-256 of the DER of this box's own CA: no other one makes operators here. */
  readonly caSha256: string
  readonly findHolder: FindHolder
  /** Whether what a certificate ends with is alive. */
  isBoundAlive(parent: string | null): Promise<boolean>
}

/**
 * Says which user an operator's certificate stands for: two rows by their keys, read at each request, so that a role that
 * is taken away and a revocation hold on the next one, on open connections too.
 *
 * A certificate of this box's CA whose serial was never written down here stands for nobody. One of a user that is gone is
 * as good as revoked.
 */
export function createOperatorCertificates(parts: OperatorCertificateParts): CertificateHolders {
  const { reader, caSha256, findHolder } = parts
  return {
    holderOf: async (certificate): Promise<AuthenticatedPrincipal | undefined> => {
      if (certificate.caSha256 !== caSha256) return undefined
      const row = await findCertificate(reader, certificate.serial)
      if (row === undefined || row.name !== certificate.name) return undefined
      const isLive = row.revoked_at_ms === null && (await parts.isBoundAlive(row.parent))
      const user = isLive ? await findHolder(reader, row.user_id) : undefined
      if (user === undefined) throw certificateRevoked()
      return {
        kind: 'cli',
        id: user.id,
        name: user.name,
        roles: expandRoles(user.roles),
        expiresAtMs: Math.min(row.expires_at_ms, certificate.notAfterMs),
        via: `certificate:${row.serial}`,
      }
    },
  }
}
