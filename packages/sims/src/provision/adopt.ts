import type { Ambr, HssDriver, Imsi, SubscriberHeld } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { openImsi } from '../secrets/sealing.ts'
import { SIMS, type SimRow } from '../store/sim-row.ts'
import { replaceWords } from '../store/word-store.ts'

/** What an import may leave open. */
export type AsIs = 'apns' | 'ambr' | 'msisdn' | 'expires_at'
export const AS_IS: readonly AsIs[] = ['apns', 'ambr', 'msisdn', 'expires_at']

/** When a SIM expires that an operator's HSS held without an end: 9999-12-31T23:59:59Z. */
const NEVER_MS = Date.UTC(9999, 11, 31, 23, 59, 59)
/** Digits of an MSISDN, ITU-T E.164. */
const MSISDN = /^[0-9]{3,15}$/

/** What of a row an HSS may say. */
type Open = Pick<SimRow, 'apns' | 'downlink_bps' | 'uplink_bps' | 'msisdn' | 'expires_at_ms' | 'as_is'>

/** A row with what its import left open as the HSS has it; as it is when that does not hold the subscriber. */
export function adopted<Row extends Open>(row: Row, held: SubscriberHeld | undefined): Row {
  const open = new Set((row.as_is ?? '').split(' '))
  const { apns = [], ambrBps, msisdn } = held ?? {}
  return {
    ...row,
    as_is: null,
    ...(open.has('apns') && apns.length > 0 ? { apns: JSON.stringify(apns) } : {}),
    ...(open.has('ambr') && ambrBps !== undefined
      ? { downlink_bps: ambrBps.down, uplink_bps: ambrBps.up }
      : {}),
    ...(open.has('msisdn') && msisdn !== undefined && MSISDN.test(msisdn) ? { msisdn } : {}),
    ...(open.has('expires_at') && held !== undefined ? { expires_at_ms: NEVER_MS } : {}),
  }
}

/** What the HSS holds of these, whoever wrote it; of a driver that only observes, what that tells. */
export async function heldBy(
  driver: HssDriver,
  imsis: readonly Imsi[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Imsi, SubscriberHeld>> {
  if (driver.existing !== undefined) return await driver.existing(imsis, signal)
  const seen = await driver.observe(imsis, signal)
  return new Map(
    [...seen].map(([imsi, { apns, ambrBps, isBlocked, msisdn }]) => [
      imsi,
      { apns, ambrBps: known(ambrBps), sessionAmbrBps: new Map(), msisdn, isBlocked },
    ]),
  )
}

function known(rate: Ambr): Ambr | undefined {
  return rate.up > 0 && rate.down > 0 ? rate : undefined
}

/**
 * Rows as they are to be pushed: what an import left open is looked up in the HSS first and kept, durably, so that the push
 * overwrites nothing that nobody spoke of. Undefined when the HSS did not answer.
 */
export async function adoptRows(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly SimRow[] | undefined> {
  const open = rows.filter(({ as_is }) => as_is !== null)
  if (open.length === 0) return rows
  const imsis = new Map(open.map((row) => [row.hash, openImsi(parts.vault, row)]))
  const held = await parts.hss.call(signal, (bound) => heldBy(driver, [...imsis.values()], bound))
  if (held === undefined) return undefined
  const heldOf = (hash: string): SubscriberHeld | undefined => {
    const imsi = imsis.get(hash)
    return imsi === undefined ? undefined : held.get(imsi)
  }
  await parts.context.observe(async (tx) => {
    for (const { hash } of open) {
      const now = await SIMS.find(tx, { hash })
      if (now === undefined || now.as_is === null) continue
      const after = adopted(now, heldOf(hash))
      await SIMS.put(tx, after)
      if (after.msisdn !== now.msisdn) await replaceWords(tx, after)
    }
  })
  return rows.map((row) => (row.as_is === null ? row : adopted(row, heldOf(row.hash))))
}
