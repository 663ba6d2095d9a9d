import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from './audit-entry.ts'

/** The newest entry, kept beside the trail so that a cut tail is seen. */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

/** What retention leaves: the entries up to `seq` (with that hash) are gone, `removed` of them in this step. */
export interface AuditCheckpoint {
  readonly seq: number
  readonly hash: string
  readonly atMs: number
  readonly removed: number
}

/** Signs heads and checkpoints: HMAC-SHA-256, hex, over canonical JSON. */
export interface AuditSeal {
  head(head: AuditHead): string
  checkpoint(checkpoint: AuditCheckpoint): string
}

const KEY_BYTES = 32

/** The seal under keys derived (HKDF-SHA-256) from `auditKey`, which must stay the same over the life of the trail. */
export function auditSeal(auditKey: KeyObject): AuditSeal {
  const derived = (use: string): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', auditKey, '', `svc audit ${use}`, KEY_BYTES)))
  const headKey = derived('head')
  const checkpointKey = derived('checkpoint')
  return {
    head: ({ seq, hash }) =>
      createHmac('sha256', headKey).update(`{"hash":"${hash}","seq":${seq}}`).digest('hex'),
    checkpoint: ({ seq, hash, atMs, removed }) =>
      createHmac('sha256', checkpointKey)
        .update(canonicalJson({ seq, hash, at_ms: atMs, removed }))
        .digest('hex'),
  }
}

/** Whether two signatures are the same, in constant time. */
export function isSameSignature(one: string, other: string): boolean {
  const a = Buffer.from(one)
  const b = Buffer.from(other)
  return a.length === b.length && timingSafeEqual(a, b)
}
