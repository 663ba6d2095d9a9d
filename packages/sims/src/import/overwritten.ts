import type { Ambr, SubscriberHeld, SubscriberObserved } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { adopted, heldBy, wantedOf, withSubscribers } from '../provision/push.ts'
import { openImsi } from '../secrets/card.ts'
import type { SimRow } from '../store/sim-store.ts'
import type { Ready, Results } from './import-rows.ts'

/** One field of a subscriber that the HSS has already and a push would change. Values of keys are null. */
export interface Overwritten {
  readonly field: string
  readonly before: string | null
  readonly after: string | null
}

/** Reports of new rows what they would change in the HSS; false when it does not answer. */
export async function tellOverwritten(
  parts: SimsParts,
  results: Results,
  added: readonly Ready[],
  signal: AbortSignal,
): Promise<boolean> {
  const changes = await overwritten(
    parts,
    added.map(({ row }) => row),
    signal,
  )
  for (const { planned, row } of added) {
    const found = changes?.get(row.hash)
    if (found !== undefined) results.overwrites(planned, found)
  }
  return changes !== undefined
}

/**
 * What pushing these rows would change in subscribers that the HSS has already, by hash; of one that it does not have,
 * nothing. Undefined when the HSS does not answer.
 */
async function overwritten(
  parts: SimsParts,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Overwritten[]> | undefined> {
  const { vault, hss } = parts
  const driver = hss.driver()
  if (driver === undefined || hss.restMs() !== undefined) return undefined
  if (driver.name === 'none') return new Map()
  const imsis = rows.map((row) => openImsi(vault, row))
  const held = await hss.call(signal, (bound) => heldBy(driver, imsis, bound))
  if (held === undefined) return undefined
  const there = rows.flatMap((row, at) => {
    const imsi = imsis[at]
    const has = imsi === undefined ? undefined : held.get(imsi)
    return imsi === undefined || has === undefined ? [] : [{ imsi, has, row: adopted(row, has) }]
  })
  const { compare } = driver
  const names = await withSubscribers(
    vault,
    there.map(({ row }) => row),
    async (all) =>
      compare === undefined || all.length === 0
        ? new Map<never, never>()
        : await hss.call(signal, (bound) => compare(all, bound)),
  )
  if (names === undefined) return undefined
  return new Map(
    there.map(({ imsi, has, row }) => [
      row.hash,
      changesOf(has, wantedOf(row, imsi), names.get(imsi)?.fields ?? []),
    ]),
  )
}

/** What a comparison of a driver calls what is told with its values here. */
const WITH_VALUES: ReadonlySet<string> = new Set(['MSISDN', 'AMBR'])

function changesOf(
  has: SubscriberHeld,
  wanted: SubscriberObserved,
  names: readonly string[],
): readonly Overwritten[] {
  const { ambrBps: rate } = wanted
  const kept = [...has.sessionAmbrBps].filter(([apn]) => wanted.apns.includes(apn))
  const all: readonly Overwritten[] = [
    { field: 'msisdn', before: has.msisdn ?? null, after: wanted.msisdn ?? null },
    { field: 'apns', before: has.apns.join(';'), after: wanted.apns.join(';') },
    { field: 'ambr', before: rateText(has.ambrBps), after: rateText(rate) },
    ...kept.map(([apn, before]) => ({
      field: `ambr of ${apn}`,
      before: rateText(before),
      after: rateText(rate),
    })),
    { field: 'blocked', before: String(has.isBlocked), after: String(wanted.isBlocked) },
  ]
  const rest = names.filter((name) => !WITH_VALUES.has(name))
  return [
    ...all.filter(({ before, after }) => before !== after),
    ...rest.map((field) => ({ field, before: null, after: null })),
  ]
}

/** Downlink and uplink, bit/s. */
function rateText(rate: Ambr | undefined): string | null {
  return rate === undefined ? null : `${rate.down}/${rate.up}`
}
