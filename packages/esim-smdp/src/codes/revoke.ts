import { esimCodeNotFound, type Reply, type Request } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { move } from '../states/move.ts'
import { termsNow } from '../states/terms.ts'
import { heldOfCodes } from '../store/code-queries.ts'
import { CODES } from '../store/rows.ts'
import { codeRecord } from './record.ts'

/**
 * Ends a code. What its eUICC holds stays there, and the SIM is what it was.
 * Throws `esim_code_not_found`, `store_corrupt`.
 */
export async function revokeCode(
  parts: EsimParts,
  request: Request<unknown, unknown, { readonly token: string }>,
): Promise<Reply> {
  const { token } = request.body
  return await request.mutate(token, async (tx) => {
    const before = await CODES.find(tx, { token })
    if (before === undefined) throw esimCodeNotFound(token)
    const [held] = await heldOfCodes(tx, [token])
    const after = move(before, { kind: 'revoke' }, termsNow(parts)).row
    if (after !== before) await CODES.put(tx, after)
    const isHeld = held !== undefined && held.state !== 'deleted'
    tx.audit({ detail: { imsi_sha256_12: before.hash, from: before.state, is_delivered: isHeld } })
    tx.event({ type: 'esim.revoke', subject: token, data: { from: before.state } })
    return { body: codeRecord(after, held, new Set()) }
  })
}
