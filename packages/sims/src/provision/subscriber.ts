import type { Imsi, Subscriber, SubscriberObserved, Vault } from '@steeple/contracts'
import { wipeCard } from '../secrets/card.ts'
import { openCard, openImsi } from '../secrets/sealing.ts'
import { wantedInHss } from '../states/change.ts'
import { apnsOf, type SimRow } from '../store/sim-row.ts'

/** SQN = SEQ ‖ IND with 5 bits of IND. TS 33.102 annex C.3.2. */
const SQN_STEP = 32n
/** SQN has 48 bits. TS 33.102 §6.3.2. */
const SQN_MASK = (1n << 48n) - 1n

/** Runs `work` with the subscribers of rows, then wipes their keys. Keys of rows that do not open stay closed. */
export async function withSubscribers<T>(
  vault: Vault,
  rows: readonly SimRow[],
  work: (subscribers: readonly Subscriber[]) => Promise<T>,
): Promise<T> {
  const cards = rows.map((row) => openCard(vault, row))
  try {
    return await work(
      rows.map((row, i): Subscriber => {
        const { ki, opc } = cards[i] ?? { ki: new Uint8Array(), opc: new Uint8Array() }
        return { ...wantedOf(row, openImsi(vault, row)), ki, opc, sqn: sqnOf(row) }
      }),
    )
  } finally {
    for (const card of cards) wipeCard(card)
  }
}

/** The subscriber of a row; the caller wipes its keys. Throws `store_corrupt`. */
export function subscriberOf(vault: Vault, row: PushedSim): Subscriber {
  const imsi = openImsi(vault, row)
  const card = openCard(vault, row)
  // Not `slice`: of a Buffer that is a view, and wiped with the card.
  const [ki, opc] = [Uint8Array.from(card.ki), Uint8Array.from(card.opc)]
  wipeCard(card)
  return { ...wantedOf(row, imsi), ki, opc, sqn: sqnOf(row) }
}

/** What of a row makes a subscriber. */
type PushedSim = Pick<SimRow, 'hash' | 'imsi_sealed' | 'secrets_sealed' | 'hss_seq'> &
  Parameters<typeof wantedOf>[0]

/** What the HSS should say of a row whose IMSI is open. */
export function wantedOf(
  row: Pick<SimRow, 'apns' | 'uplink_bps' | 'downlink_bps' | 'cap_bps' | 'state' | 'msisdn'>,
  imsi: Imsi,
): SubscriberObserved {
  return {
    imsi,
    apns: apnsOf(row),
    ambrBps: { up: capped(row.uplink_bps, row), down: capped(row.downlink_bps, row) },
    isBlocked: wantedInHss(row.state) !== 'open',
    ...(row.msisdn === null ? {} : { msisdn: row.msisdn }),
  }
}

function capped(bps: number, { cap_bps }: Pick<SimRow, 'cap_bps'>): number {
  return cap_bps === null ? bps : Math.min(bps, cap_bps)
}

/** With which SQN the subscriber is inserted; a driver never writes it again. */
function sqnOf(row: Pick<SimRow, 'hss_seq'>): bigint {
  return (BigInt(row.hss_seq) * SQN_STEP) & SQN_MASK
}

/** What differs between what the HSS should hold and what it holds; undefined when nothing does. */
export function driftOf(
  wanted: SubscriberObserved,
  seen: SubscriberObserved | undefined,
): string | undefined {
  if (seen === undefined) return 'the subscriber was missing in the HSS'
  if (seen.isBlocked !== wanted.isBlocked)
    return wanted.isBlocked
      ? 'the subscriber was unblocked in the HSS'
      : 'the subscriber was blocked in the HSS'
  const isSameApns = seen.apns.toSorted().join() === wanted.apns.toSorted().join()
  if (!isSameApns) return 'the APNs were changed in the HSS'
  const isSameAmbr =
    isNear(seen.ambrBps.up, wanted.ambrBps.up) && isNear(seen.ambrBps.down, wanted.ambrBps.down)
  if (!isSameAmbr) return 'the AMBR was changed in the HSS'
  return seen.msisdn === wanted.msisdn ? undefined : 'the MSISDN was changed in the HSS'
}

/** An HSS keeps some rates in whole kbit/s or Mbit/s: what rounding explains is no drift. */
function isNear(seen: number, wanted: number): boolean {
  return Math.abs(seen - wanted) <= Math.max(wanted / 1000, 1)
}
