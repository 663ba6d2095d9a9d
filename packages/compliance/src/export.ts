import {
  auditTrailRef,
  meshIdentityRef,
  nodeIdentityRef,
  type TimeSpan,
  timestampFromMs,
} from '@steeple/contracts'
import { type Closer, writeFile } from '@steeple/regulator-file'
import type { ComplianceParts } from './parts.ts'
import { type Kind, rowsOf } from './rows.ts'

/** What of the record a file is to hold. */
export interface ExportWish {
  readonly span: TimeSpan
  readonly kinds: readonly Kind[]
}

/** The file of a wish, piece by piece; nothing is read before the piece before it was taken. */
export async function* exportFile(
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
