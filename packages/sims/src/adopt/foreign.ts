import {
  chunksOf,
  type HssDriver,
  type Imsi,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  type Route,
  recordSchema,
  route,
  type SubscriberFound,
  type SubscriberSource,
  southboundUnavailable,
  subscriberSourcesRef,
  validationFailed,
  visitorsRef,
} from '@steeple/contracts'
import { formatPlmn, imsiHash, isImsiOf } from '@steeple/telecom'
import { MAX_BPS } from '../config.ts'
import { withoutSecrets } from '../import/columns.ts'
import type { SimsParts } from '../parts.ts'
import { MSISDN } from '../provision/push.ts'
import { openImsi } from '../secrets/card.ts'
import { type SimRow, takenAmong } from '../store/sim-store.ts'

/** Hashes in one question to the store. */
const CHUNK = 500

/** A driver that can list whom its HSS holds. */
type ListingDriver = HssDriver & Required<Pick<HssDriver, 'everybody' | 'whole'>>

/** Where subscribers are looked for: the HSS that is written to, or one that is only looked at. */
export interface Chosen {
  readonly source: SubscriberSource
  readonly isOwn: boolean
  ask<T>(signal: AbortSignal, work: (bound: AbortSignal) => Promise<T>): Promise<T>
}

/** What a request names. */
export interface SourceAsked {
  readonly source?: 'core' | 'other'
  readonly documents?: readonly string[]
}

/** A file or another core takes longer than a call of the HSS, ms. */
const SOURCE_MS = 120_000

/** The source that a request names. Throws `validation_failed` for one that cannot list, and `southbound_unavailable`. */
export function chosenSource(parts: SimsParts, { source = 'core', documents }: SourceAsked): Chosen {
  if (source === 'core' && documents === undefined) {
    const driver = listingDriver(parts)
    if (typeof driver === 'string') throw validationFailed(driver)
    return { source: driver, isOwn: true, ask: (signal, work) => answered(parts, signal, work) }
  }
  const sources = parts.context.maybe(subscriberSourcesRef)
  if (sources === undefined)
    throw validationFailed(
      `the HSS driver ${parts.hss.view().driver} reads no other subscribers; import a file (svc sim import)`,
    )
  const found = documents === undefined ? sources.other() : sources.documents(documents)
  if (found === undefined)
    throw validationFailed('no other core is named; set hss.other (pyhss or ella) and hss.other_url')
  return {
    source: found,
    isOwn: false,
    ask: (signal, work) => work(AbortSignal.any([signal, AbortSignal.timeout(SOURCE_MS)])),
  }
}

/** The driver, when it can list whom its HSS holds; otherwise why it cannot. Throws `southbound_unavailable` for one that is away. */
function listingDriver({ hss }: SimsParts): ListingDriver | string {
  const driver = hss.driver()
  const { driver: name, problem } = hss.view()
  if (driver === undefined || hss.restMs() !== undefined)
    throw southboundUnavailable(problem ?? `the HSS driver ${name} is not ready`)
  if (driver.everybody === undefined || driver.whole === undefined)
    return `the HSS driver ${name} cannot list the subscribers of a core; choose one that can (hss.driver), or import a file`
  return driver as ListingDriver // both were checked
}

/** The answer of an HSS, or `southbound_unavailable`. */
export async function answered<T>(
  { hss }: SimsParts,
  signal: AbortSignal,
  work: (bound: AbortSignal) => Promise<T>,
): Promise<T> {
  const answer = await hss.call(signal, work)
  if (answer === undefined)
    throw southboundUnavailable(hss.view().problem ?? 'the HSS does not answer; try again')
  return answer
}

/** Whom a source holds and no SIM here is of, by hash, in the order of the hashes. */
export async function foreignImsis(
  parts: SimsParts,
  { source, ask }: Chosen,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Imsi>> {
  const everybody = await ask(signal, (bound) => source.everybody(bound))
  const byHash = everybody.map((imsi) => [imsiHash(imsi), imsi] as const)
  byHash.sort(([one], [other]) => (one < other ? -1 : 1))
  const foreign = new Map<string, Imsi>()
  for (const some of chunksOf(byHash, CHUNK)) {
    const hashes = some.map(([hash]) => hash)
    const taken = await takenAmong(parts.context.db, hashes)
    const visiting = await parts.context.maybe(visitorsRef)?.among(hashes)
    for (const [hash, imsi] of some)
      if (!taken.has(hash) && visiting?.has(hash) !== true) foreign.set(hash, imsi)
  }
  return foreign
}

/** Why a subscriber cannot be taken over, in words; undefined when it can. */
export function problemOf({ context }: SimsParts, imsi: Imsi, found: SubscriberFound): string | undefined {
  const { plmn } = context.settings
  if (!isImsiOf(plmn, imsi))
    return `its IMSI is not one of the network ${formatPlmn(plmn)}: this node issues SIMs of that one alone`
  if (found.problem !== undefined) return found.problem
  if (!found.isBlocked && found.slices.every(({ apns }) => apns.length === 0))
    return 'it has no APN, so that no phone gets on with it; give it one in the core first'
  const { up, down } = found.ambrBps ?? { up: 1, down: 1 }
  return Math.max(up, down) > MAX_BPS
    ? `its AMBR is above ${MAX_BPS} bit/s; lower it in the core first`
    : undefined
}

/** A text of somebody else's HSS, without what may be a key in the wrong place. */
function shown(text: string): string {
  return withoutSecrets(text).slice(0, 100)
}

/** How long a SIM that is shown waits for the HSS, ms. */
const SHOWN_MS = 1_000

/** Slices and fixed addresses of a SIM that was taken over, as its HSS holds them; null for others, and while it does not tell. */
export async function inCoreOf(
  { hss, vault }: SimsParts,
  row: SimRow,
  left: AbortSignal,
): Promise<{ readonly slices: readonly string[]; readonly fixed_addresses: readonly string[] } | null> {
  const driver = hss.driver()
  if (row.found_sealed === null || driver?.whole === undefined || hss.restMs() !== undefined) return null
  const imsi = openImsi(vault, row)
  const signal = AbortSignal.any([left, AbortSignal.timeout(SHOWN_MS)])
  const held = await hss
    .call(signal, async (bound) => await driver.whole?.([imsi], 'without keys', bound))
    .catch(() => undefined)
  const found = held?.get(imsi)
  if (found === undefined) return null
  const addresses = found.slices.flatMap(({ apns }) => apns.flatMap((apn) => apn.addresses))
  return {
    slices: found.slices.map(({ sst, sd }) => (sd === undefined ? `${sst}` : `${sst}-${shown(sd)}`)),
    fixed_addresses: [...new Set(addresses.map(shown))],
  }
}

function subscriberRecord(parts: SimsParts, hash: string, imsi: Imsi, found: SubscriberFound) {
  const problem = problemOf(parts, imsi, found)
  return {
    imsi_sha256_12: hash,
    can_adopt: problem === undefined,
    problem: problem ?? null,
    // Other texts may be anything, an IMSI too.
    msisdn: found.msisdn !== undefined && MSISDN.test(found.msisdn) ? found.msisdn : null,
    is_blocked: found.isBlocked,
    downlink_bps: found.ambrBps?.down ?? null,
    uplink_bps: found.ambrBps?.up ?? null,
    amf: found.amf === undefined ? null : shown(found.amf),
    slices: found.slices.map(({ sst, sd, isDefault, apns }) => ({
      sst,
      sd: sd === undefined ? null : shown(sd),
      is_default: isDefault,
      apns: apns.map(({ name, ambrBps, qos, addresses }) => ({
        name: shown(name),
        downlink_bps: ambrBps?.down ?? null,
        uplink_bps: ambrBps?.up ?? null,
        qos: qos ?? null,
        addresses: addresses.map(shown),
      })),
    })),
  }
}

const NULLABLE_TEXT = { type: ['string', 'null'] }
const RATES = { downlink_bps: { type: ['integer', 'null'] }, uplink_bps: { type: ['integer', 'null'] } }
const SUBSCRIBER = recordSchema({
  imsi_sha256_12: { type: 'string' },
  can_adopt: { type: 'boolean' },
  problem: { ...NULLABLE_TEXT, description: 'Why it cannot be adopted.' },
  msisdn: NULLABLE_TEXT,
  is_blocked: { type: 'boolean' },
  ...RATES,
  amf: { ...NULLABLE_TEXT, description: 'AMF field of the authentication, as it is written.' },
  slices: {
    type: 'array',
    items: recordSchema({
      sst: { type: 'integer' },
      sd: NULLABLE_TEXT,
      is_default: { type: 'boolean' },
      apns: {
        type: 'array',
        items: recordSchema({
          name: { type: 'string' },
          ...RATES,
          qos: { type: ['integer', 'null'], description: 'QCI or 5QI.' },
          addresses: { type: 'array', items: { type: 'string' }, description: 'Static addresses.' },
        }),
      },
    }),
  },
})

/** `GET /v1/sims/foreign` */
export function foreignRoute(parts: SimsParts): Route {
  return route<unknown, SourceAsked, unknown>({
    method: 'GET',
    path: '/v1/sims/foreign',
    role: 'viewer',
    summary: 'List the subscribers of the core that are not yours yet',
    description:
      'By the hash of their IMSI, with what they may. Nothing of them is changed until you adopt them. Their keys are not read. ' +
      'Numbers and static addresses are told to `sim:issuer` alone.',
    schema: {
      query: objectSchema({
        ...PAGE_QUERY,
        source: {
          type: 'string',
          enum: ['core', 'other'],
          description: 'other: those of the other core that the configuration names.',
        },
      }),
      response: recordSchema({
        subscribers: { type: 'array', items: SUBSCRIBER },
        next_cursor: NULLABLE_TEXT,
        total: { type: ['integer', 'null'] },
        problem: { ...NULLABLE_TEXT, description: 'Why nobody can be listed; total is null then.' },
      }),
    },
    errors: ['validation_failed', 'southbound_unavailable', 'store_corrupt'],
    paged: true,
    handle: async (request) => {
      const page = await foreignPage(parts, request.query, request.page(), request.signal)
      // Who is behind them is for those who may make them SIMs of this box.
      return ok(request.principal.roles.has('sim:issuer') ? page : withoutPersons(page))
    },
  })
}

/** Without what tells who a subscriber is, or where a phone is found. */
function withoutPersons(page: ForeignPage): ForeignPage {
  const subscribers = page.subscribers.map(({ slices, ...rest }) => ({
    ...rest,
    msisdn: null,
    slices: slices.map((slice) => ({
      ...slice,
      apns: slice.apns.map((apn) => ({ ...apn, addresses: [] })),
    })),
  }))
  return { ...page, subscribers }
}

interface ForeignPage {
  readonly subscribers: readonly SubscriberRecord[]
  readonly next_cursor: string | null
  readonly total: number | null
  readonly problem: string | null
}

type SubscriberRecord = ReturnType<typeof subscriberRecord>

async function foreignPage(
  parts: SimsParts,
  asked: SourceAsked,
  page: Page,
  signal: AbortSignal,
): Promise<ForeignPage> {
  const problem = asked.source === 'other' ? undefined : listingDriver(parts)
  if (typeof problem === 'string') return { subscribers: [], next_cursor: null, total: null, problem }
  const chosen = chosenSource(parts, asked)
  const all = await foreignImsis(parts, chosen, signal)
  const after = page.after === undefined ? '' : String(page.after[0])
  const behind = [...all].filter(([hash]) => hash > after)
  const shownNow = behind.slice(0, page.limit)
  const imsis = shownNow.map(([, imsi]) => imsi)
  const found = await chosen.ask(signal, (bound) => chosen.source.whole(imsis, 'without keys', bound))
  const last = behind.length > page.limit ? shownNow.at(-1) : undefined
  return {
    subscribers: shownNow.flatMap(([hash, imsi]) => {
      const one = found.get(imsi)
      return one === undefined ? [] : [subscriberRecord(parts, hash, imsi, one)]
    }),
    next_cursor: last === undefined ? null : page.cursor([last[0]]),
    total: all.size,
    problem: null,
  }
}
