import {
  type ImsiHash,
  type JsonSchema,
  PLAIN_TEXT_PATTERN,
  southboundUnavailable,
  timeField,
} from '@steeple/contracts'
import { countFound, isSearch, type Search, search } from '../find/search.ts'
import { type SortPosition, sortedSims } from '../find/sorted.ts'
import type { SimsParts } from '../parts.ts'
import {
  countSims,
  hashesOf,
  listSims,
  SIM_STATES,
  type SimFilter,
  type SimPosition,
  type SimRow,
  simsOf,
} from '../store/sim-store.ts'

const TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN }

export const FILTER_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  state: { type: 'string', enum: SIM_STATES },
  profile: TEXT,
  label: { ...TEXT, description: 'Exactly this label; q finds words of it.' },
  batch_id: TEXT,
  iccid_last4: { type: 'string', pattern: '^[0-9]{4}$', description: 'The last four digits of the ICCID.' },
  msisdn: {
    type: 'string',
    pattern: '^[0-9]{3,15}$',
    description: 'Exactly this number, digits without a plus.',
  },
  expires_after: {
    type: 'string',
    format: 'date-time',
    description: 'SIMs that expire then or later.',
  },
  expires_before: { type: 'string', format: 'date-time', description: 'SIMs that expire earlier.' },
  attached: {
    type: 'boolean',
    description: 'SIMs with a phone that is attached now, or without. 503 while the core gives no list.',
  },
  q: {
    ...TEXT,
    description:
      'Words, each of which a SIM must match: its hash or a word of its label begins with it, or its ICCID or MSISDN ' +
      'ends with it. Whole IMSIs, ICCIDs and numbers go in the body of POST /v1/sims/find.',
  },
}

/** The filters of a query, without `limit`, `cursor` and `sort`. Throws `validation_failed` for what is no time. */
export function filterFrom(query: SimFilter): SimFilter {
  for (const name of ['expires_after', 'expires_before'] as const)
    if (query[name] !== undefined) timeField(`/${name}`, query[name])
  const names = Object.keys(FILTER_PROPERTIES) as readonly (keyof SimFilter)[] // they are the filter's
  return Object.fromEntries(
    names.map((name) => [name, query[name]]).filter(([, value]) => value !== undefined),
  )
}

/**
 * How many SIMs a filter means; undefined where only looking at every SIM would tell. Throws as `matching` does.
 */
export async function countMatching(parts: SimsParts, filter: SimFilter): Promise<number | undefined> {
  if (!isSearch(filter)) return await countSims(parts.context.db, filter)
  return await countFound(parts, await searchOf(parts, filter))
}

/** At most `limit` SIMs of a filter in an order, and where they stand in it. Throws as `matching` does. */
export async function matchingSorted(
  parts: SimsParts,
  filter: SimFilter,
  sort: string,
  limit: number,
  after: SortPosition | undefined,
): Promise<readonly { readonly row: SimRow; readonly at: SortPosition }[]> {
  const found = await sortedSims(parts, filter, sort, limit, after, () =>
    matchingHashes(parts, filter, Number.MAX_SAFE_INTEGER),
  )
  const places = new Map(found.map((at) => [at.hash, at]))
  const rows = await simsOf(parts.context.db, [...places.keys()])
  return rows.flatMap((row) => {
    const at = places.get(row.hash)
    return at === undefined ? [] : [{ row, at }]
  })
}

/**
 * At most `limit` SIMs of a filter after `after`, newest first. Throws `validation_failed`, `store_corrupt`,
 * `southbound_unavailable` when it asks who is attached and the core does not tell.
 */
export async function matching(
  parts: SimsParts,
  filter: SimFilter,
  limit: number,
  after: SimPosition | undefined,
): Promise<readonly SimRow[]> {
  const { db } = parts.context
  if (!isSearch(filter)) return await listSims(db, filter, limit, after)
  const found = await search(parts, await searchOf(parts, filter), limit, after)
  return await simsOf(
    db,
    found.map(({ hash }) => hash),
  )
}

/** At most `limit` hashes of a filter behind the hash `after`, by hash. Throws as `matching` does. */
export async function matchingHashes(
  parts: SimsParts,
  filter: SimFilter,
  limit: number,
  after = '',
): Promise<readonly ImsiHash[]> {
  if (!isSearch(filter)) return await hashesOf(parts.context.db, filter, limit, after)
  // What is searched for comes newest first: which hashes are the first is known of all of them alone.
  const found = await search(parts, await searchOf(parts, filter), Number.MAX_SAFE_INTEGER, undefined)
  return found
    .map(({ hash }) => hash)
    .filter((hash) => hash > after)
    .sort()
    .slice(0, limit)
}

/** A core is looked at every 5 s. */
const CORE_ASKED_EVERY_S = 5

async function searchOf(parts: SimsParts, filter: SimFilter): Promise<Search> {
  const attached = filter.attached === undefined ? undefined : await parts.attachedSet.fresh()
  if (filter.attached !== undefined && attached === undefined)
    throw southboundUnavailable('the core does not say who is attached; GET /v1/health says why', {
      retryAfterS: CORE_ASKED_EVERY_S,
    })
  return { filter, present: attached?.hashes }
}
