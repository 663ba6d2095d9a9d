import type { AllowListEntry, CarrierRequest } from '@steeple/contracts'
import { type Carrier, carriersOf, isUsableCarrier, mhzFromKhz } from '@steeple/telecom'
import { allowListSide, type CountryList, isInside, type ListedEntry } from './allowed-range.ts'

/** Whether the allow-list covers a carrier: by which band, or why not (the reason names channel and country). */
export type Coverage =
  | { readonly isCovered: true; readonly carrier: Carrier; readonly entry: AllowListEntry }
  | { readonly isCovered: false; readonly reason: string }

/** The question put to the allow-list. */
export interface CoverageQuestion {
  readonly carrier: CarrierRequest
  /** Whether the node itself will send it: then the band needs a downlink and a limit on EIRP needs a stated EIRP. */
  readonly isForSending: boolean
}

/**
 * Looks for an entry that covers the carrier, edges and all, in any band that its channel number can mean.
 *
 * A number that is an uplink channel of a band is covered by none of it: the list holds downlink numbers.
 */
export function coverageOf(list: CountryList, question: CoverageQuestion): Coverage {
  const { carrier: wanted } = question
  const { country } = list
  const carriers = carriersOf(wanted.technology, wanted.channel, {
    band: wanted.band,
    bandwidthMhz: wanted.bandwidthMhz,
  })
  const name = channelName(wanted)
  const placed = carriers.filter((carrier) => canBeUsed(carrier, question.isForSending))
  if (placed.length === 0) return { isCovered: false, reason: `${name} in ${country}: ${unusable(carriers)}` }
  let closest: string | undefined
  for (const carrier of placed) {
    for (const { entry, range } of list.entriesOf(wanted.technology, carrier.band)) {
      const reason = outsideReason(carrier, entry, range) ?? powerReason(entry, question)
      if (reason === undefined) return { isCovered: true, carrier, entry }
      closest ??= reason
    }
  }
  const bands = placed.map(({ band }) => band).join(', ')
  return {
    isCovered: false,
    reason: `${name} (${bands}) in ${country}: ${closest ?? `the allow-list has no entry of ${country} for it`}`,
  }
}

/** `EARFCN 1300` or `NR-ARFCN 620000`. */
export function channelName(carrier: Pick<CarrierRequest, 'technology' | 'channel'>): string {
  return `${carrier.technology === 'lte' ? 'EARFCN' : 'NR-ARFCN'} ${carrier.channel}`
}

function canBeUsed(carrier: Carrier, isForSending: boolean): boolean {
  const isPlaced = allowListSide(carrier) !== undefined
  return isPlaced && isUsableCarrier(carrier) && !(isForSending && carrier.downlink === undefined)
}

function unusable(carriers: readonly Carrier[]): string {
  const refused = carriers
    .filter((carrier) => allowListSide(carrier) !== undefined)
    .flatMap((carrier) => carrier.problems.filter(({ severity }) => severity === 'refuse'))
  if (refused[0] !== undefined) return refused[0].message
  const [carrier] = carriers
  if (carrier === undefined) return 'no band has this channel'
  if (carrier.direction !== 'UL' || carrier.duplex === 'SUL') return `${carrier.band} has no downlink`
  const pair = carrier.downlink === undefined ? '' : `, ${carrier.downlink.channel}`
  return `it is an uplink channel of ${carrier.band}; give the downlink channel${pair}`
}

function outsideReason(
  carrier: Carrier,
  entry: AllowListEntry,
  range: ListedEntry['range'],
): string | undefined {
  const block = allowListSide(carrier)
  if (block === undefined || isInside(block, range)) return undefined
  const edges = `${mhzFromKhz(block.lowKhz)} to ${mhzFromKhz(block.highKhz)} MHz`
  const limits = `${entry.earfcn_min ?? 'the low edge'} to ${entry.earfcn_max ?? 'the high edge'} of ${entry.band}`
  return `the carrier, ${edges}, lies outside the allow-list entry ${limits}`
}

function powerReason(entry: AllowListEntry, { carrier, isForSending }: CoverageQuestion): string | undefined {
  const limitDbm = entry.max_eirp_dbm
  if (limitDbm === undefined) return undefined
  if (carrier.eirpDbm === undefined) {
    return isForSending
      ? `the allow-list limits ${entry.band} to ${limitDbm} dBm EIRP and the profile states no eirp_dbm`
      : undefined
  }
  return carrier.eirpDbm <= limitDbm
    ? undefined
    : `the allow-list limits ${entry.band} to ${limitDbm} dBm EIRP, less than ${carrier.eirpDbm} dBm`
}
