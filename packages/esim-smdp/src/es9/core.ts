import { type ImsiHash, msFromDuration } from '@steeple/contracts'
import { TlvError, type VerifiedCertificates, verifiedCertificates } from '@steeple/sgp22'
import type { EsimParts, RspIdentity } from '../parts.ts'
import { MessageError } from '../rsp/members.ts'
import { type RefusalName, Refused } from '../rsp/refusal.ts'
import type { Terms } from '../states/move.ts'
import { termsNow } from '../states/terms.ts'
import type { CodeRow, SessionRow } from '../store/rows.ts'
import { type Beginnings, beginningsBy } from './beginnings.ts'
import { type Es9Metrics, es9Metrics } from './metrics.ts'
import { type PublicKeys, publicKeys } from './public-keys.ts'

const DEFAULT_LIFE_MS = 900_000

/** What the functions of ES9+ share. */
export interface Es9Core {
  readonly parts: EsimParts
  readonly metrics: Es9Metrics
  /** Certificates of EUMs and eUICCs that were verified before. */
  readonly verified: VerifiedCertificates
  /** Public keys of eUICCs that were here last. */
  readonly keys: PublicKeys
  /** Sessions that no eUICC has claimed. */
  readonly beginnings: Beginnings
  nowMs(): number
  /** What codes move by now. */
  terms(): Terms
  /** How long a session waits for its next call. */
  readonly lifeMs: number
  /** When a session that was called now is over. */
  sessionEndMs(nowMs: number): number
}

/** Makes it. */
export function es9Core(parts: EsimParts): Es9Core {
  const { context, vault, certs } = parts
  const nowMs = (): number => Math.floor(context.clock.nowMs())
  const lifeMs = msFromDuration(context.config.session_life) ?? DEFAULT_LIFE_MS
  return {
    parts,
    metrics: es9Metrics(context.metrics),
    verified: verifiedCertificates(),
    keys: publicKeys(),
    beginnings: beginningsBy(context.db, vault, certs),
    nowMs,
    terms: () => termsNow(parts),
    lifeMs,
    sessionEndMs: (from) => from + lifeMs,
  }
}

/** What `read` gives; a text that it cannot make sense of is refused with that code. */
export function understood<T>(refusal: RefusalName, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MessageError || error instanceof TlvError)
      throw new Refused(refusal, { cause: error })
    throw error
  }
}

/** The identity that a session began with: its eUICC takes no other, though a newer one may be there. Throws `Refused`. */
export function identityOf({ parts }: Es9Core, session: Pick<SessionRow, 'identity'>): RspIdentity {
  const identity = parts.certs.identity(session.identity)
  if (identity === undefined) throw new Refused('transaction')
  return identity
}

/** Whether a text is the address of this SM-DP+, in whatever case. */
export function isOwnAddress({ parts }: Es9Core, address: string): boolean {
  const own = parts.context.config.smdp_address
  return own !== '' && normal(address) === normal(own)
}

function normal(address: string): string {
  return address.toLowerCase().replace(/:443$/, '')
}

/** The SIM of a code. */
export function simOf(code: Pick<CodeRow, 'hash'>): ImsiHash {
  // A hash of the store is one.
  return code.hash as ImsiHash
}

/** The octets of a transaction id of ours. */
export function tidOctets(tid: string): Uint8Array {
  return Buffer.from(tid, 'hex')
}

/** Standard base64 of octets. */
export function base64(octets: Uint8Array): string {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString('base64')
}
