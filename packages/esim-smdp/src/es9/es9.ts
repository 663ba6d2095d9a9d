import { isServiceError, type ObservedTx } from '@steeple/contracts'
import { signP1363, tlv, verifyP1363 } from '@steeple/sgp22'
import { noteStep } from '../es2/progress.ts'
import type { EsimParts, RspIdentity } from '../parts.ts'
import { type CancelOk, readCancelResponse } from '../rsp/cancel-response.ts'
import { type EuiccInfo1, isSpoken, readEuiccInfo1 } from '../rsp/euicc-info.ts'
import { readBody } from '../rsp/json-body.ts'
import { upperHex } from '../rsp/members.ts'
import { executedBody, type RefusalName, Refused, refusedBody } from '../rsp/refusal.ts'
import { serverSigned1 } from '../rsp/server-messages.ts'
import { CHALLENGE_OCTETS } from '../rsp/tags.ts'
import { move } from '../states/move.ts'
import { pruneEuiccs } from '../store/euicc-store.ts'
import { codesDue } from '../store/order-store.ts'
import { CODES, type SessionRow } from '../store/rows.ts'
import { advance, countSessions, pruneSessions, sessionAt } from '../store/session-store.ts'
import { authenticateClient } from './authenticate.ts'
import { base64, type Es9Core, es9Core, identityOf, isOwnAddress, understood } from './core.ts'
import { getBoundProfilePackage } from './deliver.ts'
import type { Es9Function } from './metrics.ts'
import { handleNotification } from './notify.ts'
import { createPeers } from './peers.ts'
import { isSame } from './prove-euicc.ts'

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

/** Counts the sessions that are kept. */
async function countOpen(core: Es9Core): Promise<void> {
  core.metrics.sessions(await countSessions(core.parts.context.db))
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

/** Counts activation codes that do not exist, whoever tries them: each eUICC has a few before it is locked. */
interface Guesses {
  /** One more. True once in a window: when they become many. */
  saw(nowMs: number): boolean
}

/** Counts on this instance. */
function countGuesses(): Guesses {
  let sinceMs = Number.NEGATIVE_INFINITY
  let count = 0
  return {
    saw: (nowMs) => {
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
/** In every answer. Phones take any of version 2. Facts section 1.1. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'x-admin-protocol': 'gsma/rsp/v2.5.0',
}

/** An answer of ES9+: HTTP status, headers, and its JSON, if it has one. */
export interface Es9Answer {
  readonly status: 200 | 204 | 429
  readonly headers: Readonly<Record<string, string>>
  readonly body?: object
}

/** The SM-DP+ as phones see it, for whichever listener they come by. */
export interface Es9 {
  /**
   * One call: the octets of its body, and the network that it comes from (see `networkOf`; empty: one that may call as it
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

/** Makes it; registers its series and its sealed columns. */
export function createEs9(parts: EsimParts): Es9 {
  const core = es9Core(parts)
  const peers = createPeers()
  const guesses = countGuesses()
  const { context, vault } = parts
  vault.register({ table: 'esim_smdp_session', key: 'tid', columns: ['eid_sealed'] })
  vault.register({ table: 'esim_smdp_euicc', key: 'eid_hash', columns: ['eid_sealed'] })
  return {
    call: async (name, octets, network) => {
      core.metrics.called(name)
      if (!peers.admit(network, context.clock.monotonicMs())) {
        core.metrics.refused('busy')
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
  core.metrics.noticed(result)
  if (result !== 'counted') core.parts.context.log.debug({ result }, 'a notification changed nothing')
  return { status: 204, headers: { 'x-admin-protocol': HEADERS['x-admin-protocol'] ?? '' } }
}

function failed(core: Es9Core, name: Es9Function, error: unknown): Es9Answer {
  const { log } = core.parts.context
  if (!(error instanceof Refused)) {
    const code = isServiceError(error) ? error.code : undefined
    log.error({ function: name, code, ...(code === undefined && { err: error }) }, 'a call of ES9+ failed')
    core.metrics.refused('unavailable')
    // A phone drops a notification that was answered with 204: it is to send this one again.
    return name === 'handleNotification' ? busy() : answerOf('unavailable')
  }
  core.metrics.refused(error.refusal)
  const cause = error.cause instanceof Error ? error.cause.message : error.cause
  log.debug({ function: name, refusal: error.refusal, cause }, 'a call of ES9+ was refused')
  return answerOf(error.refusal)
}

function answerOf(refusal: RefusalName): Es9Answer {
  return { status: 200, headers: HEADERS, body: refusedBody(refusal) }
}

function busy(): Es9Answer {
  return { status: 429, headers: { ...HEADERS, 'retry-after': '5' }, body: refusedBody('busy') }
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
  const key = core.keys.of(session.euicc_key)
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
  core.metrics.downloaded('cancelled')
}
