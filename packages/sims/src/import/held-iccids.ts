import { setImmediate as nextTurn } from 'node:timers/promises'
import { isServiceError, type Reader, storeCorrupt, type Vault } from '@steeple/contracts'
import { wipeCard } from '../secrets/card.ts'
import { openCard } from '../secrets/sealing.ts'
import { type CardOfSim, simsWithIccidEnds } from '../store/sim-store.ts'

/** Ends of ICCIDs that one look at the store is for. */
const ENDS_AT_ONCE = 20

/**
 * Which SIM that is not revoked has each of these ICCIDs, by its hash. An ICCID is stored sealed: its last four digits
 * find the SIMs whose card is opened, so what is opened are at most the cards of all SIMs once.
 */
export async function heldIccids(
  reader: Reader,
  vault: Vault,
  iccids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const held = new Map<string, string>()
  const ends = [...new Set([...iccids].map((iccid) => iccid.slice(-4)))]
  for (let at = 0; at < ends.length; at += ENDS_AT_ONCE) {
    for (const sim of await simsWithIccidEnds(reader, ends.slice(at, at + ENDS_AT_ONCE))) {
      const iccid = iccidOf(vault, sim)
      if (iccid !== undefined && iccids.has(iccid)) held.set(iccid, sim.hash)
    }
    await nextTurn()
  }
  return held
}

/** Undefined for a damaged row: it is nobody's until somebody has mended it. */
function iccidOf(vault: Vault, sim: CardOfSim): string | undefined {
  try {
    const card = openCard(vault, sim)
    try {
      return Buffer.from(card.iccid).toString('ascii')
    } finally {
      wipeCard(card)
    }
  } catch (error) {
    if (isServiceError(error) && error.code === storeCorrupt.code) return undefined
    throw error
  }
}
