import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import {
  type Db,
  drawnKey,
  type ImsiHash,
  type Metrics,
  msFromDuration,
  type Vault,
} from '@steeple/contracts'
import { TlvError, type VerifiedCertificates, verifiedCertificates } from '@steeple/sgp22'
import type { CertStore, EsimParts, RspIdentity } from '../parts.ts'
import type { EuiccError } from '../rsp/euicc-messages.ts'
import { CHALLENGE_OCTETS, MessageError, upperHex } from '../rsp/members.ts'
import { type RefusalName, Refused } from '../rsp/refusal.ts'
import { type Terms, termsNow } from '../states/move.ts'
import { eidOfRow, shownEid } from '../store/euicc-store.ts'
import { type CodeRow, type EuiccRow, KEYS, SESSIONS, type SessionRow } from '../store/rows.ts'
import { advance } from '../store/session-store.ts'

/** Tells of an eUICC that has to wait: somebody may be trying codes. */
export async function tellLocked({ parts }: Es9Core, row: EuiccRow): Promise<void> {
  const { log } = parts.context
  const data = {
    eid_sha256_12: shownEid(eidOfRow(parts.vault, row)),
    eid_last4: row.eid_last4,
    failures: row.failures,
    locked_s: Math.ceil(((row.locked_until_ms ?? 0) - row.last_seen_ms) / 1_000),
  }
  log.warn(data, 'a device has failed too often and has to wait')
  await parts.context.observe(async (tx) =>
    tx.event({ type: 'esim.locked', subject: data.eid_sha256_12, data }),
  )
}

/** An eUICC has refused a session, which is over with it, if it is kept. It signs no error: of its code nothing changes. Throws `Refused`. */
export async function giveUp(core: Es9Core, session: SessionRow, refused: EuiccError): Promise<never> {
  if (refused.tid !== session.tid) throw new Refused('signature')
  const { db, log } = core.parts.context
  log.info({ step: session.step, error: refused.error }, 'an eUICC refused a session')
  if (session.step !== 'initiated') await db.write((tx) => advance(tx, session, { step: 'ended' }))
  throw new Refused('euicc_error')
}

/** The functions of ES9+. SGP.22 §5.6. */
export const ES9_FUNCTIONS = [
  'initiateAuthentication',
  'authenticateClient',
  'getBoundProfilePackage',
  'handleNotification',
  'cancelSession',
] as const
export type Es9Function = (typeof ES9_FUNCTIONS)[number]

export type NoticeResult = 'counted' | 'repeated' | 'unreadable' | 'not_verified' | 'unknown_profile'
/** Bounds of the histogram of a session's time, seconds. */
const SECONDS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900]

/** The series of ES9+. */
function es9Metrics(metrics: Metrics) {
  return {
    calls: metrics.counter('svc_esim_smdp_calls_total', 'Calls of ES9+ functions.', ['function']),
    refusals: metrics.counter(
      'svc_esim_smdp_refusals_total',
      'Calls that were refused. `matching_id`: the activation code does not exist.',
      ['reason'],
    ),
    downloads: metrics.counter('svc_esim_smdp_downloads_total', 'Downloads, by outcome.', ['outcome']),
    notices: metrics.counter('svc_esim_smdp_notifications_total', 'Notifications of eUICCs, by result.', [
      'result',
    ]),
    /** From the first call of a session to the delivery. */
    seconds: metrics.histogram(
      'svc_esim_smdp_download_seconds',
      'Time from the first call of a session to the delivery of the profile.',
      SECONDS,
    ),
    sessions: metrics.gauge('svc_esim_smdp_sessions', 'Open download sessions, by step.', ['step']),
  }
}

/** What the first call of a session says. */
interface PendingSession {
  readonly identity: RspIdentity
  /** Version of SGP.22, three octets. */
  readonly svn: Uint8Array
  readonly nowMs: number
}

/** Sessions of which no eUICC has proved who it is yet. */
interface PendingSessions {
  /** Transaction id and server challenge of a new one, 16 octets each. */
  begin(
    beginning: PendingSession,
  ): Promise<{ readonly tid: Uint8Array; readonly serverChallenge: Uint8Array }>
  /** The session of a transaction id (hexadecimal) of ours, as it was begun: `lifeMs` are not over, and no eUICC has claimed it. */
  find(tid: string, nowMs: number, lifeMs: number): Promise<SessionRow | undefined>
}

const ID = 'beginnings'
const KEY_ID = `esim_smdp_key/${ID}`
const TIME_OCTETS = 6
const SVN_OCTETS = 3
const MARK_OCTETS = 3
const RANDOM_OCTETS = 4
const KEY_OCTETS = 32
/** Clocks that are put right by more than that are not thought of. */
const MOST_AHEAD_MS = 366 * 86_400_000
const TID = /^[0-9a-f]{32}$/i
const NONE = new Uint8Array()

/**
 * Keeps nothing of a session that nobody has claimed: all that it began with is in its transaction id, which is one block under
 * a key of this service and so looks random, and its challenge is a MAC of that. So first calls cost no write, any number of them
 * needs no room, and none pushes another one out. The key is drawn once for all instances; a session outlives a restart.
 */
function beginningsBy(db: Db, vault: Vault, certs: CertStore): PendingSessions {
  const drawn = drawnKey(db, vault, {
    rowId: KEY_ID,
    sealed: async (reader) => (await KEYS.find(reader, { id: ID }))?.key_sealed,
    keep: async (tx, key_sealed) => {
      await KEYS.put(tx, { id: ID, key_sealed })
      return true
    },
    // Only the sessions that are being begun hang on it.
    isReplaced: true,
  })
  const keys = () => sessionKeys(drawn)
  return {
    begin: async ({ identity, svn, nowMs }) => {
      const block = Buffer.alloc(CHALLENGE_OCTETS)
      block.writeUIntBE(nowMs, 0, TIME_OCTETS)
      block.set(svn, TIME_OCTETS)
      block.set(markOf(identity), TIME_OCTETS + SVN_OCTETS)
      block.set(randomBytes(RANDOM_OCTETS), TIME_OCTETS + SVN_OCTETS + MARK_OCTETS)
      const { id, challenge } = await keys()
      const cipher = createCipheriv('aes-256-ecb', id, null).setAutoPadding(false)
      const tid = new Uint8Array(cipher.update(block))
      return { tid, serverChallenge: challengeOf(challenge, tid) }
    },
    find: async (text, nowMs, lifeMs) => {
      if (!TID.test(text)) return undefined
      const tid = Buffer.from(text, 'hex')
      const { id, challenge } = await keys()
      const block = createDecipheriv('aes-256-ecb', id, null).setAutoPadding(false).update(tid)
      const createdMs = block.readUIntBE(0, TIME_OCTETS)
      // One that is ahead was begun before the clock was put right, or is none of ours.
      if (nowMs - createdMs >= lifeMs || createdMs - nowMs > MOST_AHEAD_MS) return undefined
      const svn = new Uint8Array(block.subarray(TIME_OCTETS, TIME_OCTETS + SVN_OCTETS))
      const mark = block.subarray(TIME_OCTETS + SVN_OCTETS, -RANDOM_OCTETS)
      const identity = identityOfMark(certs, mark)
      if (identity === undefined) return undefined
      const name = upperHex(tid)
      if ((await SESSIONS.find(db, { tid: name })) !== undefined) return undefined
      const made = { createdMs, lifeMs, svn, serverChallenge: challengeOf(challenge, tid) }
      return sessionOf(name, identity, made)
    },
  }
}

function sessionOf(
  tid: string,
  identity: RspIdentity,
  made: {
    readonly createdMs: number
    readonly lifeMs: number
    readonly svn: Uint8Array
    readonly serverChallenge: Uint8Array
  },
): SessionRow {
  return {
    tid,
    step: 'initiated',
    ci_pkid: identity.ciPkid,
    identity: identity.id,
    peer: '',
    svn: made.svn,
    // It has been answered with a signature, and is of no more use.
    euicc_challenge: NONE,
    server_challenge: made.serverChallenge,
    token: null,
    eid_hash: null,
    eid_sealed: null,
    euicc_key: null,
    signature2: null,
    created_at_ms: made.createdMs,
    expires_at_ms: made.createdMs + made.lifeMs,
  }
}

/** Two keys out of the one that was drawn: one for ids, one for challenges. RFC 5869. */
async function sessionKeys(drawn: ReturnType<typeof drawnKey>) {
  const key = await drawn()
  const derived = (use: string): KeyObject =>
    createSecretKey(new Uint8Array(hkdfSync('sha256', key, NONE, use, KEY_OCTETS)))
  return { id: derived('transaction id'), challenge: derived('server challenge') }
}

function challengeOf(key: KeyObject, tid: Uint8Array): Uint8Array {
  return new Uint8Array(createHmac('sha256', key).update(tid).digest().subarray(0, CHALLENGE_OCTETS))
}

/** The set of that mark, also when a newer one has taken its place meanwhile; none that was taken back. */
function identityOfMark(certs: CertStore, mark: Uint8Array): RspIdentity | undefined {
  const isIt = (identity: RspIdentity): boolean => Buffer.compare(markOf(identity), mark) === 0
  return certs.identities().find(isIt) ?? certs.identitiesHeld().find(isIt)
}

/** Tells the few sets of one service apart in three octets. */
function markOf(identity: RspIdentity): Uint8Array {
  return createHash('sha256').update(identity.id).digest().subarray(0, MARK_OCTETS)
}

const DEFAULT_LIFE_MS = 900_000

/** What the functions of ES9+ share. */
export interface Es9Core {
  readonly parts: EsimParts
  readonly metrics: ReturnType<typeof es9Metrics>
  /** Certificates of EUMs and eUICCs that were verified before. */
  readonly verified: VerifiedCertificates
  /** Sessions that no eUICC has claimed. */
  readonly pendingSessions: PendingSessions
  nowMs(): number
  /** What codes move by now. */
  terms(): Terms
  /** How long a session waits for its next call. */
  readonly lifeMs: number
  /** When a session that was called now is over. */
  sessionEndMs(nowMs: number): number
}

export function es9Core(parts: EsimParts): Es9Core {
  const { context, vault, certs } = parts
  const nowMs = (): number => Math.floor(context.clock.nowMs())
  const lifeMs = msFromDuration(context.config.session_life) ?? DEFAULT_LIFE_MS
  return {
    parts,
    metrics: es9Metrics(context.metrics),
    verified: verifiedCertificates(),
    pendingSessions: beginningsBy(context.db, vault, certs),
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

export function simOf(code: Pick<CodeRow, 'hash'>): ImsiHash {
  // A hash of the store is one.
  return code.hash as ImsiHash
}

/** The key of a SubjectPublicKeyInfo (DER) that was verified before. */
export function keyOf(spki: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
}

/** The octets of a transaction id of ours. */
export function tidOctets(tid: string): Uint8Array {
  return Buffer.from(tid, 'hex')
}

/** Standard base64 of octets. */
export function base64(octets: Uint8Array): string {
  return Buffer.from(octets).toString('base64')
}
