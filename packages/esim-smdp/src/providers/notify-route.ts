import { hash, timingSafeEqual } from 'node:crypto'
import {
  isServiceError,
  type ObservedTx,
  type Route,
  recordSchema,
  route,
  unauthenticated,
  validationFailed,
} from '@steeple/contracts'
import { luhnCheckDigit } from '@steeple/telecom'
import { type KeptListener, keptListener } from '../listen/kept-listener.ts'
import type { EsimParts } from '../parts.ts'
import type { NoticeEvent } from '../rsp/euicc-messages.ts'
import { memberOf, objectIn, HEADERS as RSP_HEADERS } from '../rsp/refusal.ts'
import { move, termsNow } from '../states/move.ts'
import { heldOfCodes } from '../store/code-queries.ts'
import { heldAfter, putDelivered } from '../store/euicc-store.ts'
import { codeOfProvider, PROVIDERS, type ProviderRow, providerOfSubject } from '../store/provider-store.ts'
import { CODES, type CodeRow, HELD } from '../store/rows.ts'
import { lookupReady } from './provided-code.ts'
import { notifyHash, subjectOf } from './provider.ts'
import { NOTIFY_PATH } from './provider-routes.ts'

/** What is told of a download. SGP.22 §5.3.5; of what happens on the phone later some servers tell by the last three. */
type Point = NoticeEvent | 'eligibility' | 'confirmation' | 'download'
const POINTS: Readonly<Record<number, Point | undefined>> = {
  1: 'eligibility',
  2: 'confirmation',
  3: 'download',
  4: 'install',
  5: 'delete',
  101: 'enable',
  102: 'disable',
}

/** What providers tell, by whichever way they show who they are. */
export interface Notifications {
  readonly route: Route
  /** For clients with a certificate. */
  readonly listener: KeptListener
}

/** Makes it; registers its series. */
export function createNotifications(parts: EsimParts): Notifications {
  const { context } = parts
  const counter = context.metrics.counter(
    'svc_esim_smdp_provider_notifications_total',
    'Notifications of providers, by result.',
    ['result'],
  )
  const told = async (provider: ProviderRow | undefined, octets: Uint8Array | undefined): Promise<void> => {
    if (provider === undefined) {
      counter.inc({ result: 'refused' })
      throw unauthenticated('send the id of the provider and its password (HTTP Basic)')
    }
    const progress = progressIn(octets)
    await lookupReady(parts)
    const result = await context.observe((tx) => take(parts, tx, provider, progress))
    counter.inc({ result })
    if (result === 'unknown')
      context.log.warn(
        { provider: provider.id },
        'a provider tells of a profile that it has no code for here',
      )
  }
  return { route: notifyRoute(parts, told), listener: notifyListener(parts, told) }
}

type Told = (provider: ProviderRow | undefined, octets: Uint8Array | undefined) => Promise<void>
const HEADERS = { 'x-admin-protocol': RSP_HEADERS['x-admin-protocol'] }

/** `POST /gsma/rsp2/es2plus/handleDownloadProgressInfo` */
function notifyRoute(parts: EsimParts, told: Told): Route {
  return route<unknown, unknown, Uint8Array | undefined>({
    method: 'POST',
    path: NOTIFY_PATH,
    role: 'public',
    rawBody: true,
    summary: 'Take what a provider tells of a download',
    description:
      'SGP.22 ES2+ HandleDownloadProgressInfo. HTTP Basic: the id of the provider and its password (POST /v1/esim/providers/{id}/password). ' +
      'With a client certificate instead: at esim.notifications.listen.',
    schema: { status: 204, body: recordSchema({}) },
    errors: ['unauthenticated', 'validation_failed'],
    audit: { none: 'what a phone does is observed: it is told by events' },
    handle: async (request) => {
      await told(await callerOf(parts, request.header('authorization')), request.body)
      return { status: 204, headers: HEADERS }
    },
  })
}

/** The same with mutual TLS, at `esim.notifications.listen`. SGP.22 §6.5.1. */
function notifyListener({ context, certs }: EsimParts, told: Told): KeptListener {
  const { listen, client_ca } = context.config.notifications
  return keptListener({
    context,
    key: 'esim.notifications.listen',
    address: listen,
    clientCaFile: client_ca,
    material: certs.tls,
    handlers: new Map([
      [
        NOTIFY_PATH,
        async ({ octets, client }) => {
          // A connection may outlive its certificate.
          const isValid = client !== undefined && client.notAfterMs > context.clock.nowMs()
          const provider = isValid
            ? await providerOfSubject(context.db, subjectOf(client.subject))
            : undefined
          try {
            await told(provider, octets)
            return { status: 204, headers: HEADERS }
          } catch (error) {
            if (!isServiceError(error)) throw error
            if (provider === undefined) return { status: 403, headers: { ...HEADERS, connection: 'close' } }
            return { status: error.status, headers: HEADERS }
          }
        },
      ],
    ]),
  })
}

async function callerOf({ context }: EsimParts, header = ''): Promise<ProviderRow | undefined> {
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(header) ?? []
  const [id = '', password = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  const row = id === '' ? undefined : await PROVIDERS.find(context.db, { id })
  if (row?.notify_hash === undefined || row.notify_hash === null) return undefined
  const [given, kept] = [Buffer.from(notifyHash(password)), Buffer.from(row.notify_hash)]
  return given.length === kept.length && timingSafeEqual(given, kept) ? row : undefined
}

/** What a notification says. */
interface Progress {
  readonly iccid: string
  readonly eid: string | undefined
  readonly point: Point
  readonly atMs: number | undefined
  /** What went wrong, as `subject/reason`; undefined: nothing. */
  readonly failure: string | undefined
}

/** Reads one. Throws `validation_failed`. */
function progressIn(octets: Uint8Array = new Uint8Array()): Progress {
  const body = objectIn(octets)
  if (body === undefined) throw validationFailed('the body has to be the JSON of a notification')
  const [iccid, eid, id] = ['iccid', 'eid', 'notificationPointId'].map((name) => memberOf(body, name))
  if (typeof iccid !== 'string' || !/^[0-9]{18,20}[Ff]?$/.test(iccid))
    throw validationFailed('/iccid has to have 18 to 20 digits')
  const point = POINTS[Number(id)]
  if (point === undefined) throw validationFailed('/notificationPointId is none of SGP.22 §5.3.5')
  const status = memberOf(body, 'notificationPointStatus')
  const said = memberOf(status, 'status')
  const data = memberOf(status, 'statusCodeData')
  const isDone = said === 'Executed-Success' || said === 'Executed-WithWarning'
  const code = (name: string): string => {
    const text = memberOf(data, name)
    return typeof text === 'string' && /^[0-9.]{1,20}$/.test(text) ? text : '?'
  }
  const time = memberOf(body, 'timestamp')
  const atMs = typeof time === 'string' ? Date.parse(time) : Number.NaN
  return {
    iccid: iccid.replace(/[Ff]$/, ''),
    eid: typeof eid === 'string' && /^[0-9]{32}$/.test(eid) ? eid : undefined,
    point,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    failure: isDone ? undefined : `${code('subjectCode')}/${code('reasonCode')}`,
  }
}

type Result = 'counted' | 'unknown'

async function take(
  parts: EsimParts,
  tx: ObservedTx,
  provider: ProviderRow,
  told: Progress,
): Promise<Result> {
  const code = await codeOf(parts, tx, provider.id, told.iccid)
  if (code === undefined) return 'unknown'
  const nowMs = Math.floor(parts.context.clock.nowMs())
  const [known] = await heldOfCodes(tx, [code.token])
  const by = {
    eid: known?.eid_hash ?? hash('sha256', `provider ${provider.id} ${told.eid ?? code.token}`),
    eidLast4: told.eid?.slice(-4) ?? code.eid_last4 ?? '',
  }
  const { point, failure } = told
  // A clock of others that runs ahead would make all that follows late.
  if (isOnPhone(point))
    await hold(tx, code, by.eid, { point, failure, atMs: Math.min(told.atMs ?? nowMs, nowMs) })
  const after =
    failure === undefined
      ? moved(parts, code, point, by)
      : { ...code, last_error: `${STEPS[point] ?? 'what the phone did'} failed: ${failure}` }
  if (after !== code) await CODES.change(tx, code, after)
  const type = EVENTS[failure === undefined ? point : 'failed']
  const data = { imsi_sha256_12: code.hash, eid_last4: by.eidLast4, provider: provider.id }
  if (type !== undefined)
    tx.event({ type, subject: code.token, data: failure === undefined ? data : { ...data, detail: failure } })
  return 'counted'
}

type PhonePoint = NoticeEvent | 'download'

function isOnPhone(point: Point): point is PhonePoint {
  return point !== 'eligibility' && point !== 'confirmation'
}

const LIFE: readonly NoticeEvent[] = ['install', 'enable', 'disable', 'delete']

/** What it says of where the profile is. */
async function hold(
  tx: ObservedTx,
  code: CodeRow,
  eid: string,
  told: { readonly point: PhonePoint; readonly failure: string | undefined; readonly atMs: number },
): Promise<void> {
  const { point, atMs } = told
  const isFailure = told.failure !== undefined
  // Of steps that failed, that of the installation alone says that the profile is not there.
  if (isFailure && point !== 'install') return
  const key = { eid_hash: eid, token: code.token }
  if ((await HELD.find(tx, key)) === undefined) await putDelivered(tx, code, eid, atMs)
  const held = await HELD.find(tx, key)
  if (held === undefined || point === 'download') return
  // Clocks of servers count seconds: of what happened in one, the order is that of a profile's life.
  const seq = atMs * LIFE.length + LIFE.indexOf(point)
  const change = { event: point, seq, isFailure, nowMs: atMs }
  await HELD.change(tx, held, heldAfter(held, change))
}

const STEPS: Readonly<Record<string, string>> = {
  eligibility: 'the check of the phone',
  confirmation: 'the confirmation code',
  download: 'the download',
  install: 'the installation',
}
const EVENTS: Readonly<Record<string, string>> = {
  failed: 'esim.install_failed',
  download: 'esim.downloaded',
  install: 'esim.installed',
  enable: 'esim.enabled',
  disable: 'esim.disabled',
  delete: 'esim.deleted',
}

/** Steps may come out of order, and the first may be missing. */
function moved(
  parts: EsimParts,
  code: CodeRow,
  point: Point,
  by: { readonly eid: string; readonly eidLast4: string },
): CodeRow {
  if (!isOnPhone(point)) return code
  const terms = termsNow(parts)
  const isNew = code.downloads === 0 || point === 'download'
  const delivered = isNew ? move(code, { kind: 'deliver', sim: 'deliverable', ...by }, terms).row : code
  if (point === 'download') return delivered
  return move(delivered, { kind: point === 'delete' ? 'deleted' : 'installed', ...by }, terms).row
}

/** Providers write ICCIDs with and without the check digit. */
async function codeOf(
  { lookup }: EsimParts,
  tx: ObservedTx,
  provider: string,
  iccid: string,
): Promise<CodeRow | undefined> {
  const found = await codeOfProvider(tx, provider, await lookup.mac(iccid))
  if (found !== undefined || iccid.length === 20) return found
  return await codeOfProvider(tx, provider, await lookup.mac(`${iccid}${luhnCheckDigit(iccid) ?? ''}`))
}
