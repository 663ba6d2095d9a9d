import {
  auditTrailRef,
  type JsonSchema,
  meshIdentityRef,
  msFromTimestamp,
  nodeIdentityRef,
  objectSchema,
  type Route,
  route,
  TIMESTAMP_SCHEMA,
  type TimeSpan,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { type Closer, writeFile } from '@steeple/regulator-file'
import type { ComplianceParts } from '../parts.ts'
import { EXPORT_ACTION, KINDS, type Kind, rowsOf } from '../rows.ts'

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
    summary: "The regulator's file",
    description:
      'CSV (RFC 4180, UTF-8, a header row) of what happened on this node: moves of SIMs and of the node, TX intervals, changes ' +
      'of the policy, sessions, exports, and what retention has removed. Hashes in the place of IMSIs. The last line is a ' +
      "manifest with the number of rows, their SHA-256 and the node's signature: a file without it is cut off. " +
      '`svc compliance verify` checks it without this service. docs/reference/regulator-file.md describes kinds and columns.',
    produces: ['text/csv'],
    schema: { query: QUERY },
    errors: ['validation_failed', 'store_corrupt', 'store_unavailable'],
    handle: async (request) => {
      const { from, to } = request.query
      const kinds = kindsOf(request.query)
      const fromMs = momentOf('from', from) ?? 0
      const toMs = momentOf('to', to)
      if (toMs !== undefined && fromMs > toMs) throw refused('/from', 'must not be later than to')
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
  if (ms === undefined || ms < 0) throw refused(`/${name}`, 'must be an RFC 3339 time after 1970')
  return ms
}

function refused(pointer: string, message: string): Error {
  return validationFailed(`${pointer} ${message}`, { details: [{ pointer, message }] })
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
    parts.count.exported(isWhole ? 'whole' : 'broken')
  }
}

function closerOf({ context }: ComplianceParts, { span, kinds }: ExportWish): Closer {
  const identity = context.use(meshIdentityRef)
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
