import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { readKeyFile, replaceKeyFile } from '@steeple/secrets'
import { canonicalJson, isSameSignature } from './audit-chain.ts'

/** What the node knows of its trails. */
export interface AnchorRecord {
  /** When each trail of this node began, ms since the epoch, oldest first. Empty when the record is not to be trusted. */
  readonly beganAtMs: readonly number[]
  /** Whether this node has signed it. */
  readonly isSigned: boolean
}

/**
 * That this node keeps a trail, remembered outside the store: a store whose trail was erased, triggers and all, is not
 * taken for a new one.
 */
export interface AuditAnchor {
  /** Undefined as long as no trail began on this node. Throws `secrets_invalid` when others may read or write it. */
  read(): AnchorRecord | undefined
  /** Adds the beginning of a trail, durable before it returns. */
  remember(beganAtMs: number): void
}

const FILE = 'audit.anchor'
const KEY_BYTES = 32

/** The anchor in `audit.anchor` (mode 0600) of a keys directory, sealed under a key derived from `auditKey`. */
export function auditAnchor(directory: string, auditKey: KeyObject): AuditAnchor {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', auditKey, '', 'svc audit anchor', KEY_BYTES)))
  const sign = (beganAtMs: readonly number[]): string =>
    createHmac('sha256', key)
      .update(canonicalJson({ began_at_ms: [...beganAtMs] }))
      .digest('hex')

  const read = (): AnchorRecord | undefined => {
    const bytes = readKeyFile(directory, FILE)
    if (bytes === undefined) return undefined
    const parsed = parse(bytes)
    const isSigned = parsed !== undefined && isSameSignature(sign(parsed.beganAtMs), parsed.mac)
    return isSigned ? { beganAtMs: parsed.beganAtMs, isSigned } : { beganAtMs: [], isSigned: false }
  }

  return {
    read,
    remember: (beganAtMs) => {
      const known = read()?.beganAtMs ?? []
      const all = [...new Set([...known, beganAtMs])].toSorted((a, b) => a - b)
      const text = JSON.stringify({ began_at_ms: all, mac: sign(all) })
      replaceKeyFile(directory, FILE, Buffer.from(`${text}\n`))
    },
  }
}

function parse(bytes: Buffer): { readonly beganAtMs: readonly number[]; readonly mac: string } | undefined {
  try {
    const { began_at_ms: beganAtMs, mac } = Object(JSON.parse(bytes.toString())) as Record<string, unknown>
    const isList = Array.isArray(beganAtMs) && beganAtMs.every((ms) => Number.isSafeInteger(ms))
    return isList && typeof mac === 'string' ? { beganAtMs, mac } : undefined
  } catch {
    // Not signed, then: the caller says so.
    return undefined
  }
}
