import { randomUUID } from 'node:crypto'
import { type Context, nodeIdentityRef, type Principal, type TokenMint } from '@steeple/contracts'
import { newToken, tokenSha256 } from './authenticator.ts'
import { lastingParent } from './derived/parent.ts'
import type { Links } from './links/links.ts'
import { tokenMakerText } from './token-owner.ts'
import type { TokenRequest } from './token-request.ts'
import { countTokens, insertToken, type TokenRow } from './token-store.ts'

/** A new token: the text to show once, and the row to store. */
export interface NewToken {
  readonly token: string
  readonly row: TokenRow
}

/** Draws the token that `asked` describes. Nothing is stored yet. */
export async function drawToken(
  context: Context,
  asked: TokenRequest,
  principal: Principal,
  parent: string | null = lastingParent(principal),
): Promise<NewToken> {
  const token = newToken(asked.kind, context.use(nodeIdentityRef).caSha256)
  const nowMs = context.clock.nowMs()
  const row: TokenRow = {
    id: randomUUID(),
    token_sha256: tokenSha256(token),
    name: asked.name,
    kind: asked.kind,
    roles: JSON.stringify(asked.roles),
    node_id: asked.nodeId ?? null,
    node_name: asked.nodeName ?? null,
    created_at_ms: nowMs,
    expires_at_ms: asked.livesMs === undefined ? null : nowMs + asked.livesMs,
    used_at_ms: null,
    created_by: await tokenMakerText(context.db, principal),
    parent,
  }
  return { token, row }
}

/** What the audit entry of a new token says. */
export function auditDetail(row: TokenRow, asked: TokenRequest): Readonly<Record<string, unknown>> {
  return { name: row.name, kind: row.kind, roles: asked.roles }
}

/** Makes tokens for the service's own command line. */
export function createTokenMint(context: Context, links: Links): TokenMint {
  return {
    count: () => countTokens(context.db),
    link: async (principal) => {
      const link = links.draw(principal)
      await context.mutate(principal, 'auth.link', link.id, link.store)
      return link
    },
    mint: async (principal, name, roles) => {
      const asked: TokenRequest = {
        name,
        kind: 'api',
        roles,
        livesMs: undefined,
        nodeId: undefined,
        nodeName: undefined,
      }
      const { token, row } = await drawToken(context, asked, principal)
      await context.mutate(principal, 'token.create', row.id, async (tx) => {
        await insertToken(tx, row)
        tx.audit({ detail: auditDetail(row, asked) })
      })
      return { id: row.id, token }
    },
  }
}
