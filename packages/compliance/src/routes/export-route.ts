import {
  type AuditEntry,
  auditTrailRef,
  createPause,
  fieldRefused,
  type JsonSchema,
  msFromTimestamp,
  nodeCredentialsRef,
  nodeIdentityRef,
  objectSchema,
  type Pause,
  type PolicyRevision,
  policyHistoryRef,
  type RadioProfile,
  type RecordedSession,
  type Route,
  route,
  type SimStay,
  sessionHistoryRef,
  TIMESTAMP_SCHEMA,
  type TimeSpan,
  type TxInterval,
  timestampFromMs,
  timestampOrNull,
  visitorsRef,
} from '@steeple/contracts'
import { carriersOf } from '@steeple/telecom'
import type { ExportRow } from '../file/csv.ts'
import { type Closer, writeFile } from '../file/manifest.ts'
import type { ComplianceParts } from '../parts.ts'
import { type CheckpointRow, checkpointsWithin, type MoveRow, moveNumbers, movesBetween } from '../store.ts'

/** What a file can be about, in the order in which it tells of it. */
const KINDS = [
  'lifecycle',
  'sim',
  'tx',
  'policy',
  'license',
  'session',
  'stay',
  'export',
  'checkpoint',
] as const
type Kind = (typeof KINDS)[number]

/** Rows that are read at a time. */
const PAGE = 1_000
/** The audit action of an export. */
const EXPORT_ACTION = 'compliance.export'

type Pages = AsyncGenerator<readonly ExportRow[]>
type Source = (parts: ComplianceParts, span: TimeSpan) => Pages

const SOURCES: Readonly<Record<Kind, Source>> = {
  lifecycle: (parts, span) => moves(parts, span, 'lifecycle'),
  sim: (parts, span) => moves(parts, span, 'sim'),
  tx: intervals,
  policy: revisions,
  license: licenses,
  session: sessions,
  stay: stays,
  export: exports,
  checkpoint: checkpoints,
}

/** The rows of these kinds in a span: kind by kind, in each the oldest first, a page at a time. Throws `store_corrupt`. */
async function* rowsOf(
  parts: ComplianceParts,
  span: TimeSpan,
  kinds: readonly Kind[],
  signal: AbortSignal,
): Pages {
  const pause: Pause = createPause()
  for (const kind of KINDS) {
    if (!kinds.includes(kind)) continue
    for await (const page of SOURCES[kind](parts, span)) {
      signal.throwIfAborted()
      parts.count.rows.inc({}, page.length)
      yield page
      await pause()
    }
  }
}

async function* moves({ context }: ComplianceParts, span: TimeSpan, kind: MoveRow['kind']): Pages {
  const { first, last } = await moveNumbers(context.db)
  for (let after = first - 1; after < last; after += PAGE)
    yield (await movesBetween(context.db, kind, span, after, after + PAGE)).map(moveRow)
}

function moveRow({ seq, at_ms, kind, subject, from_state, to_state, reason, how }: MoveRow): ExportRow {
  const spelled = (state: string | null): string | null => state?.replace('_', '-') ?? null
  return {
    kind,
    id: seq,
    at: timestampFromMs(at_ms),
    subject,
    from: spelled(from_state),
    to: spelled(to_state),
    reason,
    detail: how === 'move' ? null : how,
  }
}

/** Page after page behind the last one that was read, until one is not full. */
async function* paged<T>(
  read: (last: T | undefined) => Promise<readonly T[]>,
  rowOf: (one: T) => ExportRow,
): Pages {
  for (let last: T | undefined; ; ) {
    const page: readonly T[] = await read(last)
    yield page.map(rowOf)
    last = page.at(-1)
    if (page.length < PAGE) return
  }
}

function intervals({ context }: ComplianceParts, span: TimeSpan): Pages {
  const history = context.use(policyHistoryRef)
  return paged((last) => history.intervals(span, last, PAGE), intervalRow)
}

/** The band of a channel that is one of a single band: profiles need not name it. */
function bandOf({ technology, channel }: RadioProfile): string | undefined {
  const [carrier, ...others] = carriersOf(technology, channel)
  return others.length === 0 ? carrier?.band : undefined
}

/** A TX interval as it stands in a file. */
export function intervalRow(interval: TxInterval): ExportRow {
  const { profile } = interval
  const detail = { ended_by: interval.endedBy, tx_gain_db: profile.tx_gain_db ?? null }
  return {
    kind: 'tx',
    id: interval.id,
    at: timestampFromMs(interval.startedAtMs),
    until: timestampOrNull(interval.endedAtMs),
    reason: interval.endReason,
    by: interval.startedBy,
    profile: interval.profileId,
    technology: profile.technology,
    band: profile.band ?? bandOf(profile) ?? null,
    channel: profile.channel,
    bandwidth_mhz: profile.bandwidth_mhz,
    eirp_dbm: profile.eirp_dbm ?? null,
    country: interval.country,
    license_reference: interval.licenseReference,
    license_holder: interval.licenseHolder,
    detail: JSON.stringify(detail),
  }
}

function revisions({ context }: ComplianceParts, span: TimeSpan): Pages {
  const history = context.use(policyHistoryRef)
  return paged<PolicyRevision>(
    (last) => history.revisions(span, last?.revision ?? -1, PAGE),
    ({ revision, atMs, by, changed }) => ({
      kind: 'policy',
      id: revision,
      at: timestampFromMs(atMs),
      by,
      detail: JSON.stringify(changed),
    }),
  )
}

/** What was attached to licences; the files themselves are in the node and its backups. */
async function* licenses({ context }: ComplianceParts, span: TimeSpan): Pages {
  const found = await context.use(policyHistoryRef).documents(span)
  yield found.map(({ id, sha256, mediaType, octets, endedBy, ...document }) => ({
    kind: 'license',
    id,
    at: timestampFromMs(document.attachedAtMs),
    until: timestampOrNull(document.endedAtMs),
    by: document.attachedBy,
    license_reference: document.licenseReference,
    license_holder: document.licenseHolder,
    detail: JSON.stringify({ sha256, media_type: mediaType, bytes: octets, ended_by: endedBy }),
  }))
}

async function* sessions({ context }: ComplianceParts, span: TimeSpan): Pages {
  const history = context.use(sessionHistoryRef)
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Awaited<ReturnType<typeof history.page>> = await history.page(span, after, PAGE)
    yield page.sessions.map(sessionRow)
    after = page.next
  }
}

function sessionRow(session: RecordedSession): ExportRow {
  return {
    kind: 'session',
    id: session.id,
    at: timestampFromMs(session.startedAtMs),
    until: timestampOrNull(session.endedAtMs),
    subject: session.imsi,
    technology: session.technology,
    apn: session.apn,
    plmn: session.plmn,
    ue_address: session.address,
    cell: session.cell,
    up_bytes: session.upBytes,
    down_bytes: session.downBytes,
  }
}

/** Without roaming a SIM is nowhere but at home. */
function stays({ context }: ComplianceParts, span: TimeSpan): Pages {
  const visitors = context.maybe(visitorsRef)
  return paged<SimStay>((last) => visitors?.stays(span, last, PAGE) ?? Promise.resolve([]), stayRow)
}

function stayRow({ id, imsi, servedBy, home, beganAtMs, seenAtMs, isOver }: SimStay): ExportRow {
  return {
    kind: 'stay',
    id,
    at: timestampFromMs(beganAtMs),
    until: isOver ? timestampFromMs(seenAtMs) : null,
    subject: imsi,
    by: `node:${servedBy.nodeId}/${servedBy.name}`,
    detail: JSON.stringify({ home: home.nodeId, home_name: home.name }),
  }
}

function exports({ context }: ComplianceParts, { fromMs, toMs }: TimeSpan): Pages {
  const trail = context.use(auditTrailRef)
  const filter = { action: EXPORT_ACTION, fromMs, toMs: toMs - 1 }
  return paged<AuditEntry>(
    (last) => trail.listAfter(filter, PAGE, last?.seq ?? 0),
    ({ seq, atMs, principal: { kind, id, name }, outcome, detail }) => ({
      kind: 'export',
      id: seq,
      at: timestampFromMs(atMs),
      reason: outcome,
      by: name === id ? `${kind}:${id}` : `${kind}:${id}/${name}`,
      detail: JSON.stringify(detail),
    }),
  )
}

function checkpoints({ context }: ComplianceParts, span: TimeSpan): Pages {
  return paged<CheckpointRow>(
    (last) => checkpointsWithin(context.db, span, last?.id ?? 0, PAGE),
    ({ id, at_ms, before_ms, first_id, last_id, kind, removed, sha256, signature }) => ({
      kind: 'checkpoint',
      id,
      at: timestampFromMs(at_ms),
      until: timestampFromMs(before_ms),
      from: first_id,
      to: last_id,
      reason: 'retention',
      detail: JSON.stringify({ of: kind, removed, sha256, signature }),
    }),
  )
}

interface ExportQuery {
  readonly from?: string
  readonly to?: string
  readonly kinds?: string
}

const LIST = `^(${KINDS.join('|')})(,(${KINDS.join('|')}))*$`
const QUERY: JsonSchema = objectSchema({
  from: { ...TIMESTAMP_SCHEMA, description: 'From then on; from the beginning when absent.' },
  to: { ...TIMESTAMP_SCHEMA, description: 'Before then; until now when absent.' },
  kinds: {
    type: 'string',
    pattern: LIST,
    maxLength: 256,
    description: `What the rows are to be about, separated by commas: ${KINDS.join(', ')}. All of them when absent.`,
  },
})

/** `GET /v1/compliance/export` */
export function exportRoute(parts: ComplianceParts): Route {
  const { context } = parts
  return route<unknown, ExportQuery, unknown>({
    method: 'GET',
    path: '/v1/compliance/export',
    role: 'operator',
    summary: "Get the regulator's file",
    description:
      'CSV (RFC 4180, UTF-8, a header row) of what happened on this node: moves of SIMs and of the node, TX intervals, ' +
      'changes of the policy, sessions, stays of SIMs at other boxes than their home, exports, and what retention has removed. It has hashes instead of IMSIs. The ' +
      "last line is a manifest with the number of rows, their SHA-256 and the node's signature; a file without it is " +
      'cut off. `svc compliance verify` checks it without this service. docs/reference/regulator-file.md describes ' +
      'kinds and columns.',
    produces: ['text/csv'],
    schema: { query: QUERY },
    errors: ['validation_failed', 'store_corrupt', 'store_unavailable'],
    handle: async (request) => {
      const { from, to } = request.query
      const kinds = kindsOf(request.query)
      const fromMs = momentOf('from', from) ?? 0
      const toMs = momentOf('to', to)
      if (toMs !== undefined && fromMs > toMs) throw fieldRefused('/from', 'must not be later than to')
      const { nodeId, name } = context.use(nodeIdentityRef)
      await context.mutate(request.principal, EXPORT_ACTION, nodeId, async (tx) =>
        tx.audit({ detail: { from: from ?? null, to: to ?? null, kinds } }),
      )
      // Up to what is there now, this very access included.
      const span = { fromMs, toMs: toMs ?? context.clock.nowMs() + 1 }
      return {
        headers: {
          'content-type': 'text/csv; charset=utf-8; header=present',
          'content-disposition': `attachment; filename="${fileName(name, span.toMs)}"`,
          'cache-control': 'no-store',
        },
        stream: exportFile(parts, { span, kinds }, request.signal),
      }
    },
  })
}

function kindsOf({ kinds }: ExportQuery): readonly Kind[] {
  // The schema lets no other names through.
  const wanted = kinds === undefined ? KINDS : (kinds.split(',') as readonly Kind[])
  return KINDS.filter((kind) => wanted.includes(kind))
}

function momentOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = msFromTimestamp(text)
  if (ms === undefined || ms < 0) throw fieldRefused(`/${name}`, 'must be an RFC 3339 time after 1970')
  return ms
}

function fileName(node: string, toMs: number): string {
  const plain = node.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
  return `svc-compliance-${plain}-${timestampFromMs(toMs).replaceAll(/[-:]|\.\d+/g, '')}.csv`
}

/** What of the record a file is to hold. */
interface ExportWish {
  readonly span: TimeSpan
  readonly kinds: readonly Kind[]
}

/** The file of a wish, piece by piece; nothing is read before the piece before it was taken. */
async function* exportFile(
  parts: ComplianceParts,
  wish: ExportWish,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let isWhole = false
  try {
    yield* writeFile(rowsOf(parts, wish.span, wish.kinds, signal), closerOf(parts, wish))
    isWhole = true
  } finally {
    parts.count.exports.inc({ result: isWhole ? 'whole' : 'broken' })
  }
}

function closerOf({ context }: ComplianceParts, { span, kinds }: ExportWish): Closer {
  const identity = context.use(nodeCredentialsRef)
  return {
    ending: async () => {
      const node = context.use(nodeIdentityRef)
      const { cert, trusted } = identity.tls()
      return {
        node_id: node.nodeId,
        node_name: node.name,
        made_at: timestampFromMs(context.clock.nowMs()),
        from: timestampFromMs(span.fromMs),
        to: timestampFromMs(span.toMs),
        kinds,
        audit_head: await context.use(auditTrailRef).head(),
        certificate: base64FromPem(cert),
        // A member of a mesh has its certificate from that mesh's CA, the root of its own mesh from its own.
        ca: base64FromPem(identity.membership()?.caPem ?? trusted[0] ?? ''),
      }
    },
    sign: (octets) => identity.sign(octets),
  }
}

/** RFC 7468: what stands between the first two lines of dashes. */
function base64FromPem(pem: string): string {
  return (/-----BEGIN CERTIFICATE-----([^-]*)-----END/.exec(pem)?.[1] ?? '').replaceAll(/\s/g, '')
}
