import {
  type BootstrapTokens,
  bootstrapTokenInvalid,
  type Clock,
  type Db,
  type Reader,
} from '@steeple/contracts'
import { burnToken, findByHash, type TokenRow } from './token-store.ts'
import { isSameSha256, tokenKindOf, tokenSha256 } from './token-text.ts'

/** Checks and burns bootstrap tokens. One answer for unknown, used, expired and bound to another node. */
export function createBootstrapTokens(db: Db, clock: Clock): BootstrapTokens {
  const live = async (reader: Reader, token: string, nodeId: string): Promise<TokenRow> => {
    if (tokenKindOf(token) !== 'bootstrap') throw bootstrapTokenInvalid()
    const sha256 = tokenSha256(token)
    const row = await findByHash(reader, sha256)
    if (row === undefined || !isSameSha256(row.token_sha256, sha256)) throw bootstrapTokenInvalid()
    if (!isOpenTo(row, nodeId, clock.nowMs())) throw bootstrapTokenInvalid()
    return row
  }
  return {
    check: async (token, nodeId) => ({ id: (await live(db, token, nodeId)).id, roles: [] }),
    burn: async (tx, token, nodeId) => {
      const own = db.join(tx)
      const row = await live(own, token, nodeId)
      if (!(await burnToken(own, row, clock.nowMs()))) throw bootstrapTokenInvalid()
    },
  }
}

function isOpenTo(row: TokenRow, nodeId: string, nowMs: number): boolean {
  if (row.kind !== 'bootstrap' || row.used_at_ms !== null) return false
  if (row.expires_at_ms === null || row.expires_at_ms <= nowMs) return false
  return row.node_id === null || row.node_id === nodeId
}
