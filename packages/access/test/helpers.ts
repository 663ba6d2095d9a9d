import { randomUUID } from 'node:crypto'
import {
  type AuditEntry,
  type AuditTrail,
  auditTrailRef,
  type ClosedItems,
  closedItemsRef,
  type NodeIdentity,
  nodeIdentityRef,
  type Role,
  sessionKeysRef,
  storeCorrupt,
  type Vault,
  vaultRef,
} from '@steeple/contracts'
import {
  type FakeClock,
  type FakeContext,
  fakeClock,
  fakeContext,
  type MemoryDb,
  memoryDb,
} from '@steeple/testkit'
import { newToken, type TokenKind, tokenSha256 } from '../src/authenticator.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { TOKENS, type TokenRow } from '../src/token-store.ts'
import { testKeys, testVault } from './people-helpers.ts'

export const CA_SHA256 = 'ab'.repeat(32)
export const NODE_ID = '11111111-2222-4333-8444-555555555555'

/** A store with the tables of the package. */
export function tokenDb(): MemoryDb {
  return memoryDb(MIGRATIONS)
}

/** Stores a token and gives its text and row. */
export async function storedToken(
  db: MemoryDb,
  over: Partial<TokenRow> & { readonly id: string },
  roles: readonly Role[] = ['viewer'],
): Promise<{ readonly token: string; readonly row: TokenRow }> {
  const kind: TokenKind = over.kind ?? 'api'
  const token = newToken(kind, CA_SHA256)
  const row: TokenRow = {
    token_sha256: tokenSha256(token),
    name: `name of ${over.id}`,
    kind,
    roles: JSON.stringify(kind === 'api' ? roles : []),
    node_id: null,
    node_name: null,
    created_at_ms: 0,
    expires_at_ms: null,
    used_at_ms: null,
    created_by: JSON.stringify({ kind: 'admin-env', id: 'admin', name: 'admin' }),
    parent: null,
    ...over,
  }
  await db.write((tx) => TOKENS.insert(tx, row))
  return { token, row }
}

/** An audit trail that remembers what it was asked to prune. */
export function fakeTrail(
  entries: readonly AuditEntry[] = [],
): AuditTrail & { readonly prunedBeforeMs: number[] } {
  const prunedBeforeMs: number[] = []
  return {
    prunedBeforeMs,
    list: async (_filter, limit, beforeSeq = Number.POSITIVE_INFINITY) =>
      entries.filter((entry) => entry.seq < beforeSeq).slice(0, limit),
    listAfter: async (_filter, limit, afterSeq) =>
      entries
        .filter((entry) => entry.seq > afterSeq)
        .toReversed()
        .slice(0, limit),
    head: async () => ({ seq: entries.length, hash: '', seal: '' }),
    verify: async () => ({ ok: true, checked: entries.length }),
    prune: async (olderThanMs) => {
      prunedBeforeMs.push(olderThanMs)
      return 0
    },
  }
}

/** Of credentials that no other one has made. */
export const UNBOUND = { isBoundAlive: async (): Promise<boolean> => true }

/** Nothing was restored. */
export const NONE_CLOSED: Pick<ClosedItems, 'among'> = { among: async () => new Set() }

/** A context with the services of the kernel that the plugin uses. */
export function accessContext(
  db: MemoryDb,
  clock: FakeClock = fakeClock(),
  trail: AuditTrail = fakeTrail(),
): FakeContext<unknown> {
  const identity: NodeIdentity = {
    nodeId: NODE_ID,
    name: 'box',
    createdAtMs: 0,
    caSha256: CA_SHA256,
    certificateExpiresAtMs: Number.MAX_SAFE_INTEGER,
  }
  const services = new Map<string, object>([
    [nodeIdentityRef.id, identity],
    [auditTrailRef.id, trail],
    [closedItemsRef.id, NONE_CLOSED],
    [vaultRef.id, testVault()],
    [sessionKeysRef.id, testKeys()],
  ])
  return fakeContext<unknown>({ id: 'access', config: {}, db, clock, services })
}

/** A vault whose seals are readable, but bound to their row and to this vault. */
export function fakeVault(): Vault {
  const mark = (rowId: string): string => `${key} ${rowId} `
  const key = randomUUID()
  return {
    keyId: key,
    register: () => {},
    seal: (plain, rowId) => Buffer.concat([Buffer.from(mark(rowId)), plain]),
    open: (sealed, rowId) => {
      const octets = Buffer.from(sealed)
      if (!octets.subarray(0, mark(rowId).length).equals(Buffer.from(mark(rowId)))) throw storeCorrupt('test')
      return octets.subarray(mark(rowId).length)
    },
  }
}
