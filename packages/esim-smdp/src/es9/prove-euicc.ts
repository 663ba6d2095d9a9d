import { type KeyObject, timingSafeEqual } from 'node:crypto'
import { checkEuiccChain, verifyP1363 } from '@steeple/sgp22'
import type { AuthenticateOk } from '../rsp/euicc-messages.ts'
import { type RefusalName, Refused } from '../rsp/refusal.ts'
import { euiccId, type NamedEuicc } from '../store/euicc-store.ts'
import type { SessionRow } from '../store/rows.ts'
import type { Es9Core } from './core.ts'

/** An eUICC that has proved who it is. */
export interface ProvenEuicc extends NamedEuicc {
  readonly last4: string
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array
  readonly key: KeyObject
}

const CHAIN_REFUSALS: Readonly<Record<string, RefusalName>> = {
  '8.11.1/3.9': 'issuer_ci',
  '8.1.2/6.1': 'eum_certificate',
  '8.1.2/6.3': 'eum_expired',
  '8.1.3/6.1': 'euicc_certificate',
  '8.1.3/6.3': 'euicc_expired',
}

/** The checks of an eUICC in the order of SGP.22 §5.6.3. Throws `Refused`. */
export function proveEuicc(core: Es9Core, session: SessionRow, response: AuthenticateOk): ProvenEuicc {
  const euicc = euiccOfChain(core, session, response)
  const isSigned = verifyP1363(euicc.key, response.signature, response.signed)
  const isOurs =
    response.tid === session.tid &&
    response.serverAddress === core.parts.context.config.smdp_address &&
    isSame(response.serverChallenge, session.server_challenge)
  if (!isSigned || !isOurs) throw new Refused('signature')
  // What was not signed before must be what is signed now. SGP.22 §3.1.2.
  if (!isSame(response.info.svn, session.svn)) throw new Refused('version')
  return euicc
}

/** The eUICC that two certificates name. Throws `Refused`. */
export function euiccOfChain(
  core: Es9Core,
  session: Pick<SessionRow, 'ci_pkid'>,
  certificates: { readonly euicc: Uint8Array; readonly eum: Uint8Array },
): ProvenEuicc {
  const identities = core.parts.certs.identities()
  const identity = identities.find(({ ciPkid }) => ciPkid === session.ci_pkid)
  if (identity === undefined) throw new Refused('transaction')
  const { euicc, eum } = certificates
  const found = checkEuiccChain(
    { euicc, eum, ci: identity.ci, nowMs: core.nowMs(), isRevoked: core.parts.certs.isRevoked },
    core.verified,
  )
  if ('code' in found)
    throw new Refused(CHAIN_REFUSALS[found.code] ?? 'euicc_certificate', { cause: found.message })
  const { eid, spki, publicKey } = found
  const { authority } = identity
  return { eid, authority, hash: euiccId(authority, eid), last4: eid.slice(-4), spki, key: publicKey }
}

/** Compares in a time that does not depend on where they differ. */
export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
