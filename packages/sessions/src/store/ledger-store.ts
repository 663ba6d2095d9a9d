import type { ImsiHash, Reader } from '@steeple/contracts'

/** Sums over rows of one source. */
export interface SourceSums {
  readonly source: string
  readonly up: number | string
  readonly down: number | string
  readonly counted_up: number | string
  readonly counted_down: number | string
  readonly incomplete: number | string
  readonly open: number | string
}

/** As a fraction: it holds every octet up to 2^53, and does not overflow as whole numbers of the store do. */
function octets(column: string): string {
  return `sum(${column} * 1.0)`
}

const RANGE = 'where imsi = :imsi and hour_ms >= :from and hour_ms < :to'
const BY_SOURCE = `select source, ${octets('up_bytes')} as up, ${octets('down_bytes')} as down,
  ${octets('counted_up')} as counted_up, ${octets('counted_down')} as counted_down,
  sum(is_incomplete) as incomplete, sum(counted_incomplete) as open
  from sessions_ledger ${RANGE} group by source order by source`

/** What each source saw, and what of it counts, in the hours that begin in a span. */
export function seenBySource(
  reader: Reader,
  imsi: ImsiHash,
  fromMs: number,
  toMs: number,
): Promise<readonly SourceSums[]> {
  return reader.all<SourceSums>(BY_SOURCE, { imsi, from: fromMs, to: toMs })
}

const OF_HOUR = 'select source from sessions_ledger where imsi = :imsi and hour_ms = :hour'

/** The sources of a subscriber in the hour that begins then. */
export async function sourcesOf(
  reader: Reader,
  imsi: ImsiHash,
  hourMs: number,
): Promise<ReadonlySet<string>> {
  const rows = await reader.all<{ readonly source: string }>(OF_HOUR, { imsi, hour: hourMs })
  return new Set(rows.map(({ source }) => source))
}

const BY_HOUR = `select hour_ms, ${octets('counted_up')} as counted_up, ${octets('counted_down')} as counted_down,
  sum(counted_incomplete) as open from sessions_ledger ${RANGE} group by hour_ms order by hour_ms`

/** What counts in each hour that begins in a span. */
export function countedByHour(
  reader: Reader,
  imsi: ImsiHash,
  fromMs: number,
  toMs: number,
): Promise<
  readonly (Pick<SourceSums, 'counted_up' | 'counted_down' | 'open'> & { readonly hour_ms: number })[]
> {
  return reader.all(BY_HOUR, { imsi, from: fromMs, to: toMs })
}
