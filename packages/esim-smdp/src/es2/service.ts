import { readFile } from 'node:fs/promises'
import { backoffMs, type ComponentHealth, type ImsiHash, messageOf } from '@steeple/contracts'
import { requestOnce } from '@steeple/http-client'
import type { Handler } from '../listen/exchange.ts'
import { type KeptListener, keptListener } from '../listen/kept-listener.ts'
import type { EsimParts } from '../parts.ts'
import { iccidOf } from '../providers/provided-code.ts'
import { HEADERS } from '../rsp/refusal.ts'
import {
  ORDERS,
  PROGRESS,
  type ProgressRow,
  progressDue,
  progressWaiting,
  pruneCalls,
  pruneProgress,
} from '../store/es2-store.ts'
import { eidOfRow } from '../store/euicc-store.ts'
import { CODES, EUICCS } from '../store/rows.ts'
import {
  callerOf,
  ES2_FUNCTIONS,
  type Es2FunctionName,
  type Es2Metrics,
  es2Metrics,
  iccidOut,
} from './core.ts'
import { createEs2, type Es2 } from './es2.ts'

const TIMEOUT_MS = 10_000
/** Octets of an answer that are read; nobody looks at it. */
const MOST_OCTETS = 65_536
const STANDARD_PATH = '/gsma/rsp2/es2plus/handleDownloadProgressInfo'

/** Sends JSON to the order system, and gives the HTTP status. Rejects when there is no answer. */
export type PostJson = (body: object, signal: AbortSignal) => Promise<number>

/**
 * Posts to `esim.es2.notify_url`, as the client that `notify_cert` and the secret `notify_key` say. Files are read for each
 * request, so that they can be renewed.
 */
function postToOrderSystem({ context }: EsimParts): PostJson {
  const { notify_url, notify_ca, notify_cert } = context.config.es2
  return async (body, signal) => {
    const key = notify_cert === '' ? undefined : await context.secret('es2.notify_key')
    if (notify_cert !== '' && key === undefined)
      throw new Error('esim.es2.notify_key is missing; svc secret set esim-smdp es2.notify_key < FILE')
    const connect = {
      ...(notify_ca !== '' && { ca: await readFile(notify_ca) }),
      ...(key !== undefined && { cert: await readFile(notify_cert), key }),
    }
    const url = new URL(notify_url)
    const request = {
      method: 'POST',
      url: url.pathname === '/' ? new URL(STANDARD_PATH, url) : url,
      headers: HEADERS,
      body: JSON.stringify(body),
      isBodyUnread: true,
    } as const
    const bound = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    return (await requestOnce({ maxBytes: MOST_OCTETS, connect }, request, bound)).status
  }
}

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
      metrics.progress.inc({ outcome: result === 'told' ? 'told' : 'failed' })
      if (typeof outcome !== 'object') outcome = result
    }
    if (signal.aborted || due.length < AT_ONCE || typeof outcome === 'object') break
  }
  metrics.waiting.set(await progressWaiting(context.db))
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
  metrics.progress.inc({ outcome: 'given_up' }, given)
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
    return messageOf(error)
  }
}

/** SGP.22 §5.3.5; undefined when there is no such order any more. */
async function progressBody(parts: EsimParts, row: ProgressRow): Promise<object | undefined> {
  const { context, vault, certs } = parts
  const order = await ORDERS.find(context.db, { token: row.token })
  const code = await CODES.find(context.db, { token: row.token })
  if (order === undefined || code === undefined) return undefined
  // The hash of a row is one.
  const iccid = (await iccidOf(parts, code.hash as ImsiHash)) ?? ''
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

const PREFIX = '/gsma/rsp2/es2plus'

/** ES2+ with mutual TLS for order systems, at `esim.es2.listen`; none while eSIM is off. SGP.22 §6.5.1. */
function es2Listener({ context, certs }: EsimParts, es2: Es2): KeptListener {
  const { enabled, es2: config } = context.config
  const handlerOf = (name: Es2FunctionName): Handler => {
    return async ({ octets, client }) => {
      // A connection may outlive its certificate, and so may what TLS remembers of one.
      if (client === undefined || client.notAfterMs <= context.clock.nowMs())
        return { status: 403, headers: { connection: 'close' } }
      const { status, body } = await es2.call(name, octets, callerOf(client))
      return { status, headers: status === 429 ? { ...HEADERS, 'retry-after': '5' } : HEADERS, body }
    }
  }
  return keptListener({
    context,
    key: 'esim.es2.listen',
    address: enabled ? config.listen : '',
    clientCaFile: config.client_ca,
    material: certs.tls,
    handlers: new Map(ES2_FUNCTIONS.map((name) => [`${PREFIX}/${name}`, handlerOf(name)])),
  })
}

const TELL_MS = 2_000
const SWEEP_MS = 60_000

/** ES2+ of this plugin: its listener, and what tells the order system. */
export interface Es2Service {
  start(): Promise<void>
  stop(): Promise<void>
  /** Of the listener, and of telling how downloads go; of what is off nothing. */
  health(): readonly ComponentHealth[]
}

export function createEs2Service(parts: EsimParts): Es2Service {
  const { context } = parts
  const metrics = es2Metrics(context.metrics)
  let problem: string | undefined
  const listener = es2Listener(parts, createEs2(parts, metrics))
  return {
    start: async () => {
      if (context.config.es2.notify_url !== '') {
        const post = postToOrderSystem(parts)
        context.every(TELL_MS, async (signal) => {
          const outcome = await tellProgress(parts, metrics, post, signal)
          if (outcome !== undefined) problem = outcome === 'told' ? undefined : outcome.why
        })
      }
      context.every(SWEEP_MS, () => sweepEs2(parts, metrics))
      await listener.start()
    },
    stop: () => listener.stop(),
    health: () => [listener.health() ?? [], context.config.es2.notify_url === '' ? [] : told(problem)].flat(),
  }
}

function told(problem: string | undefined): ComponentHealth {
  const part = { name: 'es2.notify', kind: 'feature' } as const
  if (problem === undefined) return { ...part, status: 'ok', detail: 'nothing waits that could not be told' }
  return {
    ...part,
    status: 'degraded',
    detail: `esim.es2.notify_url does not take how downloads go: ${problem}`,
  }
}
