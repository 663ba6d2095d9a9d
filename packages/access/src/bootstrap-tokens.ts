import {
  type BootstrapTokens,
  bootstrapTokenInvalid,
  type Context,
  closedItemsRef,
  msFromDuration,
  type Reader,
} from '@steeple/contracts'
import { isSameSha256, tokenKindOf, tokenSha256 } from './authenticator.ts'
import { BOOTSTRAP_TOKEN } from './closed-kinds.ts'
import { withinMaker } from './token-limits.ts'
import { drawToken } from './token-mint.ts'
import { rolesOfOwner } from './token-owner.ts'
import { burnToken, findByHash, insertToken, type TokenRow } from './token-store.ts'

/** Makes, checks and burns bootstrap tokens. One answer for unknown, used, expired and bound to another node. */
export function createBootstrapTokens(
  context: Context,
  isBoundAlive: (reader: Reader, parent: string | null) => Promise<boolean>,
): BootstrapTokens {
  const { db, clock } = context
  const closed = context.use(closedItemsRef)
  const live = async (reader: Reader, token: string, nodeId: string): Promise<TokenRow> => {
    if (tokenKindOf(token) !== 'bootstrap') throw bootstrapTokenInvalid()
    const sha256 = tokenSha256(token)
    const row = await findByHash(reader, sha256)
    if (row === undefined || !isSameSha256(row.token_sha256, sha256)) throw bootstrapTokenInvalid()
    if (!isOpenTo(row, nodeId, clock.nowMs())) throw bootstrapTokenInvalid()
    if (!(await isBoundAlive(reader, row.parent))) throw bootstrapTokenInvalid()
    if ((await closed.among(BOOTSTRAP_TOKEN, [row.id])).has(row.id)) throw bootstrapTokenInvalid()
    // Letting boxes in is for administrators, and whoever made it may be none any more.
    const held = await rolesOfOwner(reader, row)
    if (held !== 'any' && !held.has('admin')) throw bootstrapTokenInvalid()
    return row
  }
  return {
    check: async (token, nodeId) => {
      const row = await live(db, token, nodeId)
      return { id: row.id, roles: [], isUsed: row.used_at_ms !== null }
    },
    burn: async (tx, token, nodeId) => {
      const own = db.join(tx)
      const row = await live(own, token, nodeId)
      if (!(await burnToken(own, row, nodeId, clock.nowMs()))) throw bootstrapTokenInvalid()
    },
    mint: async (tx, principal, wanted) => {
      const nowMs = clock.nowMs()
      const mostMs = msFromDuration(context.settings.auth.bootstrap_token_ttl) ?? 0
      const asked = withinMaker(
        {
          name: wanted.name,
          kind: 'bootstrap',
          roles: [],
          livesMs: Math.min(wanted.livesMs ?? mostMs, mostMs),
          nodeId: wanted.nodeId,
          nodeName: undefined,
        },
        false,
        principal,
        nowMs,
      )
      const { token, row } = await drawToken(context, asked, principal)
      await insertToken(db.join(tx), row)
      return { id: row.id, token, expiresAtMs: row.expires_at_ms ?? nowMs }
    },
  }
}

/** A used one is bound to the node that used it: that one may ask again for what it was given. */
function isOpenTo(row: TokenRow, nodeId: string, nowMs: number): boolean {
  if (row.kind !== 'bootstrap') return false
  if (row.expires_at_ms === null || row.expires_at_ms <= nowMs) return false
  if (row.used_at_ms !== null && row.node_id === null) return false
  return row.node_id === null || row.node_id === nodeId
}
