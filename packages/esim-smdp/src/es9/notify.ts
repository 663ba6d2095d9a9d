import type { ObservedTx } from '@steeple/contracts'
import { verifyP1363 } from '@steeple/sgp22'
import {
  type InstallNotice,
  type OtherNotice,
  pendingNotification,
  readNotification,
} from '../rsp/euicc-messages.ts'
import { Refused, readBody } from '../rsp/refusal.ts'
import { type CodeEvent, move } from '../states/move.ts'
import { adoptEarlier } from '../store/adopt-store.ts'
import { codesOfIccid } from '../store/code-queries.ts'
import { noteStep, type Step } from '../store/es2-store.ts'
import { heldAfter, putNotice } from '../store/euicc-store.ts'
import { CODES, type CodeRow, EUICCS, HELD, SESSIONS, type SessionRow } from '../store/rows.ts'
import { advance } from '../store/session-store.ts'
import { euiccOfChain, isSame } from './authenticate.ts'
import { type Es9Core, keyOf, type NoticeResult, understood } from './core.ts'

/** A notification whose signature is that of its eUICC. */
interface Proven {
  readonly notice: InstallNotice | OtherNotice
  readonly eidHash: string
  /** The session of the result of an installation. */
  readonly session: SessionRow | undefined
}

/**
 * Takes a notification in. It is answered 204 whatever it is, so this only says what became of it. Throws what the store
 * throws: the phone keeps the notification then. SGP.22 §5.6.4.
 */
export async function handleNotification(core: Es9Core, octets: Uint8Array): Promise<NoticeResult> {
  const notice = noticeIn(octets)
  if (notice === undefined) return 'unreadable'
  const proven = notice.kind === 'result' ? await provenResult(core, notice) : await provenOther(core, notice)
  if (proven === undefined) return 'not_verified'
  const token = await tokenOf(core, proven)
  if (token === undefined) return 'unknown_profile'
  const { iccid } = notice
  const iccidMac = iccid === '' ? undefined : await core.parts.lookup.mac(iccid)
  return await core.parts.context.observe((tx) => take(core, tx, proven, { token, iccidMac }))
}

function noticeIn(octets: Uint8Array): InstallNotice | OtherNotice | undefined {
  try {
    const text = readBody(octets, 'signature').octets('pendingNotification', 'signature')
    return understood('signature', () => readNotification(text))
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** By the key of the session in which the profile went out: it comes without certificates, and perhaps weeks later. */
async function provenResult(core: Es9Core, notice: InstallNotice): Promise<Proven | undefined> {
  const session = await SESSIONS.find(core.parts.context.db, { tid: notice.tid })
  if (session === undefined || session.euicc_key === null || session.eid_hash === null) return undefined
  const key = keyOf(session.euicc_key)
  if (!verifyP1363(key, notice.signature, notice.signed)) return undefined
  return { notice, eidHash: session.eid_hash, session }
}

/** By its certificates, under whichever CI of ours they are: it counts for what went out under that one. */
async function provenOther(core: Es9Core, notice: OtherNotice): Promise<Proven | undefined> {
  const pkids = new Set(core.parts.certs.identities().map(({ ciPkid }) => ciPkid))
  for (const ci_pkid of pkids) {
    try {
      const euicc = euiccOfChain(core, { ci_pkid }, notice)
      const isSigned = verifyP1363(euicc.key, notice.signature, notice.signed)
      if (!isSigned) return undefined
      await adoptEarlier(core.parts, euicc)
      return { notice, eidHash: euicc.hash, session: undefined }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
    }
  }
  return undefined
}

/** The code whose profile that eUICC was given; undefined for any other. */
async function tokenOf({ parts }: Es9Core, proven: Proven): Promise<string | undefined> {
  const { notice, session, eidHash } = proven
  const { db } = parts.context
  // An installation that failed early: the eUICC had not come to the ICCID, and the session says which profile it was.
  if (session !== undefined && notice.iccid === '') return session.token ?? undefined
  // Whether the ICCID is the one of its code is looked at with the code.
  if (session !== undefined) return session.token ?? undefined
  const codes = notice.iccid === '' ? [] : await codesOfIccid(db, await parts.lookup.mac(notice.iccid))
  for (const { token } of codes)
    if ((await HELD.find(db, { eid_hash: eidHash, token })) !== undefined) return token
  return undefined
}

async function take(
  core: Es9Core,
  tx: ObservedTx,
  proven: Proven,
  { token, iccidMac }: { readonly token: string; readonly iccidMac: Uint8Array | undefined },
): Promise<NoticeResult> {
  const { notice, eidHash: eid_hash, session } = proven
  const nowMs = core.nowMs()
  const [held, code] = [await HELD.find(tx, { eid_hash, token }), await CODES.find(tx, { token })]
  if (held === undefined || code === undefined) return 'unknown_profile'
  if (iccidMac !== undefined && !isSame(code.iccid_mac, iccidMac)) return 'unknown_profile'
  const detail = detailOf(notice)
  const isFailure = detail !== null
  const { seq, event } = notice
  const isNew = await putNotice(tx, { eid_hash, seq, event, token, detail, received_at_ms: nowMs })
  // The result of a session is news even under a number that was there: an eUICC that was reset counts from the beginning.
  const isReset = !isNew && session?.step === 'delivered'
  if (!isNew && !isReset) return 'repeated'
  const before = isReset ? { ...held, seq: seq - 1 } : held
  await HELD.change(tx, held, heldAfter(before, { event, seq, isFailure, nowMs }))
  await seenAgain(tx, proven, nowMs)
  // Its result has come; what is sent again still finds its key for a while.
  if (session?.step === 'delivered')
    await advance(tx, session, { step: 'ended', expires_at_ms: nowMs + REPEATS_MS })
  // What an older one says that comes late is not so any more.
  if (seq > before.seq) await moveCode(core, tx, code, eventOf(proven, code.eid_last4 ?? ''))
  // An eUICC tells of an installation by its result, and by a notification to whoever asked for one: that is one event.
  const isKnown = event === 'install' && !isFailure && held.installed_at_ms !== null
  if (!isKnown) await tellOf(core, tx, proven, code, detail)
  return 'counted'
}

/** The result of a download that has just been says nothing new of when its eUICC was here. */
async function seenAgain(tx: ObservedTx, { session, eidHash }: Proven, nowMs: number): Promise<void> {
  if (session !== undefined && Math.abs(nowMs - session.created_at_ms) <= SEEN_MS) return
  const euicc = await EUICCS.find(tx, { eid_hash: eidHash })
  if (euicc !== undefined && Math.abs(nowMs - euicc.last_seen_ms) > SEEN_MS)
    await EUICCS.change(tx, euicc, { ...euicc, last_seen_ms: nowMs })
}

async function tellOf(
  core: Es9Core,
  tx: ObservedTx,
  proven: Proven,
  code: CodeRow,
  detail: string | null,
): Promise<void> {
  const { event } = proven.notice
  const isFailure = detail !== null
  if (event === 'install') {
    core.metrics.downloads.inc({ outcome: isFailure ? 'failed' : 'installed' })
    await noteStep(core.parts, tx, installationStep(proven, code.token, detail))
  }
  const type = `esim.${isFailure ? 'install_failed' : TYPES[event]}`
  const data = { imsi_sha256_12: code.hash, eid_last4: code.eid_last4, ...(isFailure && { detail }) }
  tx.event({ type, subject: code.token, data })
}

function installationStep({ notice, eidHash }: Proven, token: string, detail: string | null): Step {
  return {
    token,
    eidHash,
    point: 'installation',
    ...(detail !== null && { failure: { message: detail } }),
    ...(notice.kind === 'result' && { result: pendingNotification(notice) }),
  }
}

async function moveCode(
  core: Es9Core,
  tx: ObservedTx,
  code: CodeRow,
  event: CodeEvent | undefined,
): Promise<void> {
  if (event === undefined) return
  const { row } = move(code, event, core.terms())
  if (row !== code) await CODES.change(tx, code, row)
}

/** Why an installation failed; null for anything else. */
function detailOf(notice: InstallNotice | OtherNotice): string | null {
  if (notice.kind === 'other' || notice.failure === undefined) return null
  return `step ${notice.failure.command}, reason ${notice.failure.reason}`
}

/** When an eUICC was seen is known as exactly as this. */
const SEEN_MS = 60_000
/** How long a result that has come is still known by the key of its session. */
const REPEATS_MS: number = 7 * 86_400_000
const TYPES = { install: 'installed', enable: 'enabled', disable: 'disabled', delete: 'deleted' } as const

function eventOf({ notice, eidHash: eid }: Proven, eidLast4: string): CodeEvent | undefined {
  if (notice.event === 'delete') return { kind: 'deleted', eid, eidLast4 }
  // A profile tells of its installation by its result; the other kind tells of those that somebody else has loaded.
  if (notice.event !== 'install') return undefined
  const failure = notice.kind === 'result' ? notice.failure : undefined
  return failure === undefined
    ? { kind: 'installed', eid, eidLast4 }
    : { kind: 'install_failed', reason: failure.reason, eid, eidLast4 }
}
