import { setTimeout as sleep } from 'node:timers/promises'
import { createPause, type ImsiHash, systemPrincipal } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { noteCancel } from '../providers/cancels.ts'
import { move, termsNow } from '../states/move.ts'
import { AT_ONCE, codesOfSims, OPEN_STATES, openCodes } from '../store/code-queries.ts'
import { CODES } from '../store/rows.ts'

const PRINCIPAL = systemPrincipal('esim')
const AGAIN_MS = 5_000

/**
 * Revokes the codes of SIMs that are revoked, as soon as they are: with each move, and all of them at the start and when
 * moves were missed. Ends when the plugin leaves.
 */
export async function followSims(parts: EsimParts): Promise<void> {
  const { context, subscribers } = parts
  const signal = context.retiring
  let cursor: string | undefined
  while (!signal.aborted) {
    try {
      const seen = await subscribers.moves(cursor, signal)
      if (seen.isGap) await revokeOrphans(parts, signal)
      const gone = seen.moves.filter(({ to }) => to === 'revoked').map(({ imsi }) => imsi)
      for (let at = 0; at < gone.length; at += AT_ONCE)
        await revokeCodesOf(parts, gone.slice(at, at + AT_ONCE))
      cursor = seen.cursor
    } catch (error) {
      if (signal.aborted) return
      context.log.warn({ err: error }, 'codes of revoked SIMs could not be revoked; tried again')
      cursor = undefined
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** Looks at the SIM of each open code. */
async function revokeOrphans(parts: EsimParts, signal: AbortSignal): Promise<void> {
  const pause = createPause()
  for (let after = ''; !signal.aborted; ) {
    const rows = await openCodes(parts.context.db, after, AT_ONCE)
    // Hashes of rows are hashes.
    const cards = await parts.issuer.cards([...new Set(rows.map(({ hash }) => hash as ImsiHash))])
    const live = new Set<string>(cards.filter(({ state }) => state !== 'revoked').map(({ imsi }) => imsi))
    const gone = rows.filter(({ hash }) => !live.has(hash)).map(({ hash }) => hash)
    await revokeCodesOf(parts, gone)
    const last = rows.at(-1)
    if (rows.length < AT_ONCE || last === undefined) return
    after = last.token
    await pause()
  }
}

async function revokeCodesOf(parts: EsimParts, hashes: readonly string[]): Promise<void> {
  const { context } = parts
  const isOpen = ({ state }: { readonly state: (typeof OPEN_STATES)[number] }): boolean =>
    OPEN_STATES.includes(state)
  const found = (await codesOfSims(context.db, hashes)).filter(isOpen)
  const [first] = found
  if (first === undefined) return
  const target = found.length === 1 ? first.token : `${found.length} codes`
  await context.mutate(PRINCIPAL, 'esim.revoke', target, async (tx) => {
    const rows = (await codesOfSims(tx, hashes)).filter(isOpen)
    for (const row of rows) {
      const { row: after } = move(row, { kind: 'revoke' }, termsNow(parts))
      await noteCancel(parts, tx, row)
      await CODES.put(tx, { ...after, last_error: 'its SIM was revoked' })
    }
    tx.audit({ detail: { reason: 'sim_revoked', tokens: rows.map(({ token }) => token) } })
    tx.event({ type: 'esim.revoke', subject: target, data: { codes: rows.length, reason: 'sim_revoked' } })
  })
}
