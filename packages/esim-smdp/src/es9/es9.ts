import { createHash } from 'node:crypto'
import { isServiceError, type ObservedTx, type OpenableSim } from '@steeple/contracts'
import { BspError, signP1363, tlv, verifyP1363 } from '@steeple/sgp22'
import { bindProfile } from '../bpp/bind.ts'
import type { EsimParts, RspIdentity } from '../parts.ts'
import {
  type CancelOk,
  type DownloadOk,
  type EuiccInfo1,
  isSpoken,
  readCancelResponse,
  readDownloadResponse,
  readEuiccInfo1,
} from '../rsp/euicc-messages.ts'
import { CHALLENGE_OCTETS, SEQUENCE, TID, upperHex } from '../rsp/members.ts'
import { executedBody, HEADERS, type RefusalName, Refused, readBody, refusedBody } from '../rsp/refusal.ts'
import { deliverability, move } from '../states/move.ts'
import { codesDue, isHeldElsewhere } from '../store/code-queries.ts'
import { noteStep } from '../store/es2-store.ts'
import {
  isLocked,
  pruneEuiccs,
  putDelivered,
  versionOfRow,
  withFailure,
  withoutFailures,
} from '../store/euicc-store.ts'
import { CODES, type CodeRow, EUICCS, type EuiccRow, type SessionRow } from '../store/rows.ts'
import { advance, countSessions, pruneSessions, sessionAt } from '../store/session-store.ts'
import { authenticateClient, isSame } from './authenticate.ts'
import {
  base64,
  type Es9Core,
  type Es9Function,
  es9Core,
  giveUp,
  identityOf,
  isOwnAddress,
  keyOf,
  simOf,
  tellLocked,
  tidOctets,
  understood,
} from './core.ts'
import { handleNotification } from './notify.ts'
import { createPeers } from './peers.ts'
import { profileOf } from './profile-of.ts'

/** How long the result of an installation is waited for: a phone sends it when it is on the air again. */
const RESULT_LIFE_MS: number = 90 * 86_400_000

/** A session whose eUICC has proved who it is, with its code. */
interface Open {
  readonly session: SessionRow
  readonly code: CodeRow
  readonly sim: OpenableSim | undefined
  readonly eid: string
}

/** Delivers a profile, bound to the eUICC of the session. Throws `Refused`. SGP.22 §5.6.2. */
async function getBoundProfilePackage(
  core: Es9Core,
  octets: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'transaction')
  const tid = body.text('transactionId', 'transaction')
  const session = await sessionAt(core.parts.context.db, tid, ['authenticated'], core.nowMs())
  if (session === undefined) throw new Refused('transaction')
  const response = understood('signature', () =>
    readDownloadResponse(body.octets('prepareDownloadResponse', 'signature')),
  )
  if (!response.isOk) return await giveUp(core, session, response)
  const { euicc_key, signature2 } = session
  if (euicc_key === null || signature2 === null || response.tid !== session.tid)
    throw new Refused('signature')
  const key = keyOf(euicc_key)
  if (!verifyP1363(key, response.signature, response.signed, signature2)) throw new Refused('signature')
  const open = await openOf(core, session)
  const wrong = confirmationRefusal(core, open, response)
  if (wrong !== undefined) throw new Refused(await refuseConfirmation(core, open, wrong))
  const bpp = await boundFor(core, open, response)
  const refusal = await core.parts.context.observe((tx) => hand(core, tx, open))
  if (refusal !== undefined) throw new Refused(refusal)
  core.metrics.downloads.inc({ outcome: 'delivered' })
  core.metrics.seconds.observe(Math.max(0, core.nowMs() - session.created_at_ms) / 1_000)
  return { transactionId: session.tid, boundProfilePackage: base64(bpp) }
}

async function openOf({ parts }: Es9Core, session: SessionRow): Promise<Open> {
  const { token, eid_sealed, tid } = session
  if (token === null || eid_sealed === null) throw new Refused('transaction')
  const code = await CODES.find(parts.context.db, { token })
  if (code === undefined) throw new Refused('matching_id')
  const sim = await parts.issuer.sim(simOf(code))
  const eid = Buffer.from(parts.vault.open(eid_sealed, `esim_smdp_session/${tid}`)).toString('latin1')
  return { session, code, sim, eid }
}

/** `SHA-256(SHA-256(code) || transaction id)` is what was entered. Facts section 1.4. */
function confirmationRefusal(
  { parts }: Es9Core,
  { code, session }: Open,
  { hashCc }: DownloadOk,
): 'confirmation_missing' | 'confirmation_refused' | undefined {
  if (code.confirmation_sealed === null) return undefined
  if (hashCc === undefined) return 'confirmation_missing'
  const stored = parts.vault.open(code.confirmation_sealed, `esim_smdp_code/${code.token}`)
  const expected = createHash('sha256').update(stored).update(tidOctets(session.tid)).digest()
  stored.fill(0)
  return isSame(expected, hashCc) ? undefined : 'confirmation_refused'
}

/** Ends the session, and counts a wrong code on the order and on the eUICC. */
async function refuseConfirmation(
  core: Es9Core,
  { session, code, eid }: Open,
  wrong: 'confirmation_missing' | 'confirmation_refused',
): Promise<RefusalName> {
  const nowMs = core.nowMs()
  const { refusal, locked } = await core.parts.context.db.write(async (tx) => {
    const now = await CODES.find(tx, { token: code.token })
    if (now === undefined || !(await advance(tx, session, { step: 'ended' })))
      return { refusal: 'transaction' as const, locked: undefined }
    if (wrong === 'confirmation_missing') {
      await tell(wrong)
      return { refusal: wrong, locked: undefined }
    }
    const by = { eid: session.eid_hash ?? '', eidLast4: eid.slice(-4) }
    const moved = move(now, { kind: 'wrong_confirmation', ...by }, core.terms())
    if (moved.row !== now) await CODES.change(tx, now, moved.row)
    await tell(moved.refusal ?? wrong)
    return { refusal: moved.refusal ?? wrong, locked: await countFailure() }

    async function tell(failure: RefusalName): Promise<void> {
      const { token } = code
      await noteStep(core.parts, tx, { token, eidHash: session.eid_hash, point: 'confirmation', failure })
    }
    async function countFailure(): Promise<EuiccRow | undefined> {
      const seen = await EUICCS.find(tx, { eid_hash: by.eid })
      if (seen === undefined) return undefined
      const after = withFailure({ ...seen, last_seen_ms: nowMs }, nowMs)
      await EUICCS.change(tx, seen, after)
      return isLocked(after, nowMs) ? after : undefined
    }
  })
  if (locked !== undefined) await tellLocked(core, locked)
  return refusal
}

/** The profile for this session. What was drawn for it is gone when this returns. Throws `Refused`. */
async function boundFor(core: Es9Core, open: Open, { otpk }: DownloadOk): Promise<Uint8Array> {
  const { session, code, sim, eid } = open
  const { refusal } = deliverMove(core, open, code)
  if (refusal !== undefined || sim === undefined)
    return await refuseDelivery(core, session, refusal ?? 'matching_id')
  const identity = identityOf(core, session)
  const euicc = await EUICCS.find(core.parts.context.db, { eid_hash: session.eid_hash ?? '' })
  const { metadata, octets } = await profileOf(core, code, sim, versionOfRow(euicc))
  try {
    const tid = tidOctets(session.tid)
    return bindProfile({ identity, tid, eid, euiccOtpk: otpk, metadata, profile: octets })
  } catch (error) {
    if (error instanceof BspError) throw new Refused('signature', { cause: error })
    throw error
  } finally {
    octets.fill(0)
  }
}

async function refuseDelivery(core: Es9Core, session: SessionRow, refusal: RefusalName): Promise<never> {
  await core.parts.context.db.write((tx) => advance(tx, session, { step: 'ended' }))
  throw new Refused(refusal)
}

function deliverMove(
  core: Es9Core,
  { session, sim, eid }: Open,
  row: CodeRow,
): { readonly row: CodeRow; readonly refusal?: RefusalName } {
  const by = { eid: session.eid_hash ?? '', eidLast4: eid.slice(-4) }
  return move(row, { kind: 'deliver', sim: deliverability(sim?.view), ...by }, core.terms())
}

/** Writes down that the profile goes out: session, code, inventory and event in one. Gives why it must not. */
async function hand(core: Es9Core, tx: ObservedTx, open: Open): Promise<RefusalName | undefined> {
  const { session, code } = open
  const nowMs = core.nowMs()
  const eidHash = session.eid_hash ?? ''
  const now = await CODES.find(tx, { token: code.token })
  if (now === undefined) return 'matching_id'
  const moved = deliverMove(core, open, now)
  const refusal = moved.refusal ?? ((await isHeldElsewhere(tx, now.hash, eidHash)) ? 'other_eid' : undefined)
  const delivered = { step: 'delivered', expires_at_ms: nowMs + RESULT_LIFE_MS } as const
  const isNext = await advance(tx, session, refusal === undefined ? delivered : { step: 'ended' })
  if (!isNext || refusal !== undefined) return isNext ? refusal : 'transaction'
  await CODES.change(tx, now, moved.row)
  await putDelivered(tx, moved.row, eidHash, nowMs)
  const seen = await EUICCS.find(tx, { eid_hash: eidHash })
  if (seen !== undefined && seen.failures > 0) await EUICCS.change(tx, seen, withoutFailures(seen))
  await noteStep(core.parts, tx, { token: code.token, eidHash, point: 'download' })
  const { eid_last4, downloads } = moved.row
  const data = { imsi_sha256_12: code.hash, eid_last4, downloads }
  tx.event({ type: 'esim.downloaded', subject: code.token, data })
  return undefined
}

/** Rows of one transaction: others wait as long. */
const CHUNK = 200

/** Forgets sessions that are over, lets codes expire, and forgets eUICCs that hold nothing; nothing while the clock is in doubt. */
async function sweep(core: Es9Core, signal: AbortSignal): Promise<void> {
  const { context } = core.parts
  if (context.clock.doubt?.() !== undefined) return
  const nowMs = core.nowMs()
  while (!signal.aborted && (await context.db.write((tx) => pruneSessions(tx, nowMs, CHUNK))) === CHUNK);
  while (!signal.aborted && (await context.observe((tx) => expireSome(core, tx))) === CHUNK);
  await context.db.write((tx) => pruneEuiccs(tx, nowMs, CHUNK))
}

/** Counts the sessions that are kept; of those that are only begun nothing is. */
async function countOpen(core: Es9Core): Promise<void> {
  const counts = await countSessions(core.parts.context.db)
  for (const step of ['authenticated', 'delivered', 'ended'])
    core.metrics.sessions.set(counts.get(step) ?? 0, { step })
}

async function expireSome(core: Es9Core, tx: ObservedTx): Promise<number> {
  const due = await codesDue(tx, core.nowMs(), CHUNK)
  for (const code of due) {
    const { row } = move(code, { kind: 'expire' }, core.terms())
    if (row === code) continue
    await CODES.change(tx, code, row)
    tx.event({ type: 'esim.expired', subject: code.token, data: { imsi_sha256_12: code.hash } })
  }
  return due.length
}

/** So many unknown codes within the window are no mistyping any more. */
const MANY = 20
const WINDOW_MS = 600_000

/**
 * Counts activation codes that do not exist, whoever tries them, on this instance: each eUICC has a few before it is locked.
 * `saw`: one more; true once in a window, when they become many.
 */
function countGuesses() {
  let sinceMs = Number.NEGATIVE_INFINITY
  let count = 0
  return {
    saw: (nowMs: number): boolean => {
      if (nowMs - sinceMs >= WINDOW_MS) [sinceMs, count] = [nowMs, 0]
      count += 1
      return count === MANY
    },
  }
}

/** Tells that somebody guesses. One in 2^130 hits; what it costs is worth knowing. */
async function tellGuessing({ parts }: Es9Core): Promise<void> {
  const data = { codes: MANY, within_s: WINDOW_MS / 1_000 }
  parts.context.log.warn(data, 'somebody is guessing activation codes')
  await parts.context.observe(async (tx) =>
    tx.event({ type: 'esim.guessed', subject: 'activation codes', data }),
  )
}

const SWEEP_MS = 60_000
const COUNT_MS = 15_000
/** An answer of ES9+: HTTP status, headers, and its JSON, if it has one. */
interface Es9Answer {
  readonly status: 200 | 204 | 429
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object
}

/** The SM-DP+ as phones see it, for whichever listener they come by. */
export interface Es9 {
  /**
   * One call: the octets of its body, and the network that it comes from (see `callersNetwork`; empty: one that may call as it
   * likes). Never rejects, and never answers anything but SGP.22's form.
   */
  call(name: Es9Function, octets: Uint8Array, network: string): Promise<Es9Answer>
  /** Begins to forget what is over. Once, at the start of the plugin. */
  start(): void
}

type Answering = (core: Es9Core, octets: Uint8Array) => Promise<Readonly<Record<string, string>>>
const FUNCTIONS: Readonly<Record<Exclude<Es9Function, 'handleNotification'>, Answering>> = {
  initiateAuthentication,
  authenticateClient,
  getBoundProfilePackage,
  cancelSession,
}

/** Makes it; registers its series. */
export function createEs9(parts: EsimParts): Es9 {
  const core = es9Core(parts)
  const peers = createPeers()
  const guesses = countGuesses()
  const { context } = parts
  return {
    call: async (name, octets, network) => {
      core.metrics.calls.inc({ function: name })
      if (!peers.admit(network, context.clock.monotonicMs())) {
        core.metrics.refusals.inc({ reason: 'busy' })
        return busy()
      }
      try {
        if (name === 'handleNotification') return await noticed(core, octets)
        const fields = await FUNCTIONS[name](core, octets)
        return { status: 200, headers: HEADERS, body: executedBody(fields) }
      } catch (error) {
        const isGuess = error instanceof Refused && error.refusal === 'matching_id'
        if (isGuess && guesses.saw(context.clock.monotonicMs()))
          // The phone is answered all the same.
          await tellGuessing(core).catch((cause) => context.log.warn({ err: cause }, 'an event was not told'))
        return failed(core, name, error)
      }
    },
    start: () => {
      context.every(SWEEP_MS, (signal) => sweep(core, signal))
      context.every(COUNT_MS, () => countOpen(core), 'each')
    },
  }
}

async function noticed(core: Es9Core, octets: Uint8Array): Promise<Es9Answer> {
  const result = await handleNotification(core, octets)
  core.metrics.notices.inc({ result })
  if (result !== 'counted') core.parts.context.log.debug({ result }, 'a notification changed nothing')
  return { status: 204, headers: { 'x-admin-protocol': HEADERS['x-admin-protocol'] } }
}

function failed(core: Es9Core, name: Es9Function, error: unknown): Es9Answer {
  const { log } = core.parts.context
  if (!(error instanceof Refused)) {
    const code = isServiceError(error) ? error.code : undefined
    log.error({ function: name, code, ...(code === undefined && { err: error }) }, 'a call of ES9+ failed')
    core.metrics.refusals.inc({ reason: 'unavailable' })
    // A phone drops a notification that was answered with 204: it is to send this one again.
    return name === 'handleNotification' ? busy() : answerOf(new Refused('unavailable'))
  }
  core.metrics.refusals.inc({ reason: error.refusal })
  const cause = error.cause instanceof Error ? error.cause.message : error.cause
  log.debug({ function: name, refusal: error.refusal, cause }, 'a call of ES9+ was refused')
  return answerOf(error)
}

function answerOf(refused: Refused): Es9Answer {
  return { status: 200, headers: HEADERS, body: refusedBody(refused) }
}

function busy(): Es9Answer {
  return { status: 429, headers: { ...HEADERS, 'retry-after': '5' }, body: refusedBody(new Refused('busy')) }
}

/** Begins a session. Throws `Refused`. SGP.22 §5.6.1. */
async function initiateAuthentication(
  core: Es9Core,
  octets: Uint8Array,
): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'address')
  if (!isOwnAddress(core, body.text('smdpAddress', 'address'))) throw new Refused('address')
  const euiccChallenge = body.octets('euiccChallenge', 'signature')
  if (euiccChallenge.length !== CHALLENGE_OCTETS) throw new Refused('signature')
  const info = understood('version', () => readEuiccInfo1(body.octets('euiccInfo1', 'version')))
  if (!isSpoken(info.svn)) throw new Refused('version')
  const identity = chosen(core.parts.certs.identities(), info)
  const begun = await core.pendingSessions.begin({ identity, svn: info.svn, nowMs: core.nowMs() })
  const serverAddress = core.parts.context.config.smdp_address
  const signed = serverSigned1({ ...begun, euiccChallenge, serverAddress })
  return {
    transactionId: upperHex(begun.tid),
    serverSigned1: base64(signed),
    serverSignature1: base64(signP1363(identity.auth.key, signed)),
    euiccCiPKIdToBeUsed: base64(tlv(0x04, Buffer.from(identity.ciPkid, 'hex'))),
    serverCertificate: base64(identity.auth.der),
  }
}

/** SGP.22 §5.6.1. */
export function serverSigned1(of: {
  readonly tid: Uint8Array
  readonly euiccChallenge: Uint8Array
  readonly serverAddress: string
  readonly serverChallenge: Uint8Array
}): Uint8Array {
  return tlv(
    SEQUENCE,
    tlv(TID, of.tid),
    tlv(0x81, of.euiccChallenge),
    tlv(0x83, Buffer.from(of.serverAddress, 'utf8')),
    tlv(0x84, of.serverChallenge),
  )
}

/**
 * The identity that the eUICC can check and has a key for, the one that it likes best. Both lists must name its CI: what
 * signs here and what the eUICC signs with hang on one. Throws `Refused`.
 */
function chosen(identities: readonly RspIdentity[], info: EuiccInfo1): RspIdentity {
  const known = identities.filter(({ ciPkid }) => info.verification.includes(ciPkid))
  if (known.length === 0) throw new Refused('verification_ci')
  for (const pkid of info.signing) {
    const identity = known.find(({ ciPkid }) => ciPkid === pkid)
    if (identity !== undefined) return identity
  }
  throw new Refused('signing_ci')
}

/**
 * Ends a session in which its eUICC had proved who it is. Throws `Refused`. SGP.22 §5.6.5.
 *
 * A session that this server has ended itself is cancelled without an effect: phones cancel after every failed step, and a
 * mistyped confirmation code must not end the order.
 */
async function cancelSession(core: Es9Core, octets: Uint8Array): Promise<Readonly<Record<string, string>>> {
  const body = readBody(octets, 'transaction')
  const tid = body.text('transactionId', 'transaction')
  const steps = ['authenticated', 'delivered', 'ended'] as const
  const session = await sessionAt(core.parts.context.db, tid, steps, core.nowMs())
  if (session?.euicc_key === null || session === undefined) throw new Refused('transaction')
  const response = understood('signature', () =>
    readCancelResponse(body.octets('cancelSessionResponse', 'signature')),
  )
  if (response === undefined) throw new Refused('euicc_error')
  const key = keyOf(session.euicc_key)
  const isSigned = verifyP1363(key, response.signature, response.signed)
  if (!isSigned || response.tid !== session.tid) throw new Refused('signature')
  if (!isSame(response.owner, identityOf(core, session).ownerOctets)) throw new Refused('owner')
  if (session.step !== 'ended') await end(core, session, response)
  return { transactionId: session.tid }
}

async function end(core: Es9Core, session: SessionRow, { reason }: CancelOk): Promise<void> {
  const { token, eid_hash: eid } = session
  const expires_at_ms = core.sessionEndMs(core.nowMs())
  const isEnded = await core.parts.context.observe(async (tx) => {
    // What was delivered may be installed all the same: its result is waited for.
    const later = session.step === 'delivered' ? {} : { expires_at_ms }
    if (!(await advance(tx, session, { step: 'ended', ...later }))) return false
    const code = token === null ? undefined : await CODES.find(tx, { token })
    if (code === undefined || eid === null) return true
    const { row } = move(code, { kind: 'cancel', reason, eid, eidLast4: '' }, core.terms())
    if (row !== code) await CODES.change(tx, code, row)
    const point = session.step === 'delivered' ? 'installation' : 'download'
    const failure = { message: `cancelled on the device: reason ${reason}` }
    await noteStep(core.parts, tx, { token: code.token, eidHash: eid, point, failure })
    const data = { imsi_sha256_12: code.hash, reason, state: row.state }
    tx.event({ type: 'esim.cancelled', subject: code.token, data })
    return true
  })
  if (!isEnded) throw new Refused('transaction')
  core.metrics.downloads.inc({ outcome: 'cancelled' })
}
