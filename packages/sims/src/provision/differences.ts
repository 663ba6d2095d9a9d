import { type HssDriver, type Imsi, isServiceError, type Subscriber } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { openImsi, wipe } from '../secrets/card.ts'
import { wantedInHss } from '../states/change.ts'
import type { ComparedSim } from '../store/sim-store.ts'
import { driftOf, subscriberOf, wantedOf } from './push.ts'

/** One SIM that the HSS holds otherwise than it should. */
export interface Difference {
  readonly row: ComparedSim
  /** In words, without a value. */
  readonly reason: string
  /** Whether the next push brings the SQN anew. */
  readonly isSqnLost: boolean
  readonly isMissing: boolean
}

/** Names in one reason; more are counted. */
const MOST_NAMES = 4
const MISSING = 'the subscriber was missing in the HSS'

/**
 * The SIMs that the HSS holds otherwise than it should; undefined when it did not answer.
 *
 * A driver that compares is given those that may be on air whole, keys included, since a changed key shows nowhere else.
 * For all others what can be observed must do.
 */
export async function differences(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<readonly Difference[] | undefined> {
  const isCompared = (row: ComparedSim): boolean =>
    driver.compare !== undefined && wantedInHss(row.state) === 'open'
  const whole = rows.filter(isCompared)
  const compared = await comparedWhole(parts, driver, whole, signal)
  if (compared === undefined) return undefined
  const rest = rows.filter((row) => !isCompared(row))
  const observed = await observedOnly(parts, driver, rest, signal)
  return observed === undefined ? undefined : [...compared, ...observed]
}

async function comparedWhole(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<readonly Difference[] | undefined> {
  const subscribers = new Map<ComparedSim, Subscriber>()
  try {
    for (const row of rows) {
      const subscriber = readable(() => subscriberOf(parts.vault, row))
      if (subscriber !== undefined) subscribers.set(row, subscriber)
    }
    if (subscribers.size === 0) return []
    const all = [...subscribers.values()]
    const seen = await parts.hss.call(signal, async (bound) => await driver.compare?.(all, bound))
    if (seen === undefined) return undefined
    return [...subscribers].flatMap(([row, { imsi }]): readonly Difference[] => {
      const difference = seen.get(imsi)
      if (difference === undefined) return [{ row, reason: MISSING, isSqnLost: true, isMissing: true }]
      const { fields, isSqnLost } = difference
      return fields.length === 0 ? [] : [{ row, reason: named(fields), isSqnLost, isMissing: false }]
    })
  } finally {
    for (const { ki, opc } of subscribers.values()) wipe(ki, opc)
  }
}

async function observedOnly(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly ComparedSim[],
  signal: AbortSignal,
): Promise<readonly Difference[] | undefined> {
  const imsis = new Map<string, Imsi>()
  for (const row of rows) {
    const imsi = readable(() => openImsi(parts.vault, row))
    if (imsi !== undefined) imsis.set(row.hash, imsi)
  }
  if (imsis.size === 0) return []
  const seen = await parts.hss.call(signal, (bound) => driver.observe([...imsis.values()], bound))
  if (seen === undefined) return undefined
  return rows.flatMap((row): readonly Difference[] => {
    const imsi = imsis.get(row.hash)
    if (imsi === undefined) return []
    const held = seen.get(imsi)
    const reason = reasonOf(row, imsi, held)
    const isMissing = held === undefined
    return reason === undefined ? [] : [{ row, reason, isSqnLost: isMissing, isMissing }]
  })
}

function reasonOf(row: ComparedSim, imsi: Imsi, held: Parameters<typeof driftOf>[1]): string | undefined {
  if (wantedInHss(row.state) === 'absent')
    return held === undefined ? undefined : 'the subscriber was in the HSS again'
  return driftOf(wantedOf(row, imsi), held)
}

function named(fields: readonly string[]): string {
  const rest = fields.length - MOST_NAMES
  const names = fields.slice(0, MOST_NAMES).join(', ')
  return `changed in the HSS: ${names}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Undefined for a damaged row: it is compared when somebody has mended it. */
function readable<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch (error) {
    if (isServiceError(error) && error.code === 'store_corrupt') return undefined
    throw error
  }
}
