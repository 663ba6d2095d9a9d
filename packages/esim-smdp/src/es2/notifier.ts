import { backoffMs, type ImsiHash } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { ORDERS, PROGRESS, type ProgressRow } from '../store/es2-rows.ts'
import { progressDue, progressWaiting, pruneCalls, pruneProgress } from '../store/es2-store.ts'
import { eidOfRow } from '../store/euicc-store.ts'
import { CODES, EUICCS } from '../store/rows.ts'
import { iccidOut } from './core.ts'
import type { Es2Metrics } from './metrics.ts'
import type { PostJson } from './post.ts'

const AT_ONCE = 8
const BACKOFF = { firstMs: 5_000, longestMs: 3_600_000 }
const DAY_MS = 86_400_000
/** An order system that is away for longer has to ask by other ways. */
const GIVE_UP_MS: number = 7 * DAY_MS
const MOST_WAITING = 10_000
const KEEP_CALLS_MS: number = 30 * DAY_MS
const CHUNK = 200
/** It may be the result that the order system fails at (pySim's does, with some versions of asn1tools): better the step alone. */
const MOST_WITH_RESULT = 2

/** Tells what is due, some at a time; what fails is told again later. Gives why the last one failed, `told` when all went well; undefined: none was due. */
export async function tellProgress(
  parts: EsimParts,
  metrics: Es2Metrics,
  post: PostJson,
  signal: AbortSignal,
): Promise<'told' | { readonly why: string } | undefined> {
  const { context } = parts
  let outcome: 'told' | { readonly why: string } | undefined
  for (;;) {
    const due = await progressDue(context.db, Math.floor(context.clock.nowMs()), AT_ONCE)
    const results = await Promise.all(due.map((row) => tell(parts, post, row, signal)))
    for (const result of results) {
      if (result === 'gone') continue
      metrics.progress(result === 'told' ? 'told' : 'failed')
      if (typeof outcome !== 'object') outcome = result
    }
    if (signal.aborted || due.length < AT_ONCE || typeof outcome === 'object') break
  }
  metrics.waiting(await progressWaiting(context.db))
  return outcome
}

/** Forgets calls, and gives up what could not be told; nothing by age while the clock is in doubt. */
export async function sweepEs2({ context }: EsimParts, metrics: Es2Metrics): Promise<void> {
  if (context.clock.doubt?.() !== undefined) return
  const nowMs = Math.floor(context.clock.nowMs())
  const given = await context.db.write(async (tx) => {
    await pruneCalls(tx, nowMs - KEEP_CALLS_MS, CHUNK)
    return await pruneProgress(tx, { before: nowMs - GIVE_UP_MS, room: MOST_WAITING, most: CHUNK })
  })
  if (given === 0) return
  metrics.progress('given_up', given)
  context.log.warn({ entries: given }, 'steps of downloads could not be told to esim.es2.notify_url')
}

async function tell(
  parts: EsimParts,
  post: PostJson,
  row: ProgressRow,
  signal: AbortSignal,
): Promise<'told' | 'gone' | { readonly why: string }> {
  const { context } = parts
  const why = await attempt(parts, post, row, signal)
  if (why === undefined) {
    await context.db.write((tx) => PROGRESS.remove(tx, { id: row.id }))
    return 'told'
  }
  if (signal.aborted) return 'gone'
  const failures = row.failures + 1
  const next_at_ms = Math.floor(context.clock.nowMs()) + backoffMs(BACKOFF, failures)
  await context.db.write(async (tx) => {
    // It may have been given up meanwhile.
    if ((await PROGRESS.find(tx, { id: row.id })) !== undefined)
      await PROGRESS.put(tx, { ...row, failures, next_at_ms })
  })
  context.log.warn({ point: row.point, failures, why }, 'a step of a download could not be told')
  return { why }
}

/** Why it was not taken; undefined when it was. */
async function attempt(
  parts: EsimParts,
  post: PostJson,
  row: ProgressRow,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const body = await progressBody(parts, row)
    if (body === undefined) return undefined
    const status = await post(body, signal)
    return status >= 200 && status < 300 ? undefined : `HTTP ${status}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** SGP.22 §5.3.5; undefined when there is no such order any more. */
async function progressBody(parts: EsimParts, row: ProgressRow): Promise<object | undefined> {
  const { context, issuer, vault, certs } = parts
  const order = await ORDERS.find(context.db, { token: row.token })
  const code = await CODES.find(context.db, { token: row.token })
  if (order === undefined || code === undefined) return undefined
  // The hash of a row is one.
  const credentials = await issuer.credentials(code.hash as ImsiHash)
  const iccid = Buffer.from(credentials.iccid).toString('latin1')
  credentials.wipe()
  const euicc = row.eid_hash === null ? undefined : await EUICCS.find(context.db, { eid_hash: row.eid_hash })
  const eid = euicc && eidOfRow(vault, euicc)
  return {
    header: {
      functionRequesterIdentifier: certs.identities()[0]?.owner ?? context.config.smdp_address,
      functionCallIdentifier: row.id,
    },
    ...(eid !== undefined && { eid }),
    iccid: iccidOut(iccid),
    profileType: order.profile_type,
    timestamp: `${new Date(row.at_ms).toISOString().slice(0, 19)}Z`,
    notificationPointId: row.point,
    notificationPointStatus: statusOf(row),
    ...(row.result_sealed !== null &&
      row.failures < MOST_WITH_RESULT && {
        resultData: Buffer.from(vault.open(row.result_sealed, `esim_smdp_progress/${row.id}`)).toString(
          'base64',
        ),
      }),
  }
}

function statusOf({ is_ok, subject_code, reason_code, message }: ProgressRow): object {
  if (is_ok === 1) return { status: 'Executed-Success' }
  // What a phone says has no code of the server's: execution error of the eUICC.
  const statusCodeData = {
    subjectCode: subject_code ?? '8.1',
    reasonCode: reason_code ?? '4.2',
    ...(message !== null && { message }),
  }
  return { status: 'Failed', statusCodeData }
}
