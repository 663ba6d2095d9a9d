import {
  BATCH_ID_PATTERN,
  type ImsiHash,
  type JsonSchema,
  keysetPages,
  NODE_ID_SCHEMA,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeStateConflict,
  objectSchema,
  ok,
  REACH_FIELDS,
  type ReachKeeper,
  type Reader,
  type Route,
  recordSchema,
  route,
  SIM_PARAMS,
  simIssuerRef,
  simNotFound,
  simProvisioningRef,
  timestampOrNull,
  validationFailed,
} from '@steeple/contracts'
import { ALL, indProblem, othersOf, PLAN_RESOURCE, type RoamingParts } from '../parts.ts'
import { allBoxes, callersOf, leasesOf, REACHES, type Reach } from '../store.ts'
import { boxesIn, reachedBoxes } from './plan.ts'

const IMSI_HASH: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{12}$' }

interface Params {
  readonly imsi: ImsiHash
}
interface Body {
  readonly reach: Reach
  readonly boxes?: readonly string[]
}

const RESPONSE: JsonSchema = recordSchema({
  imsi_sha256_12: { type: 'string' },
  reach: REACH_FIELDS.reach,
  is_default: { type: 'boolean', description: 'Nobody has chosen one.' },
  boxes: {
    type: 'array',
    items: recordSchema({
      node_id: NODE_ID_SCHEMA,
      name: { type: ['string', 'null'] },
      state: {
        type: 'string',
        description:
          'open, blocked or ended, as it should be there; none: reached, and there is no lease; not_permitted: named, and an admin has not permitted it. More may come.',
      },
      is_told: { type: 'boolean', description: 'Whether the box has taken it.' },
      until: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'Until when it may go on without this box.' },
      problem: { type: ['string', 'null'] },
      up_bytes: { type: 'integer' },
      down_bytes: { type: 'integer' },
    }),
  },
})

/** Chooses where SIMs work. */
export function reachKeeper(parts: RoamingParts): ReachKeeper {
  return {
    check: ({ reach, boxes = [] }) => {
      const problem = reach === 'home' ? undefined : indProblem(parts)
      if (problem !== undefined) throw nodeStateConflict(problem)
      if ((reach === 'boxes') !== boxes.length > 0)
        throw validationFailed('/boxes names boxes with reach boxes, and is left out otherwise', {
          details: [{ pointer: '/boxes', message: 'goes with reach boxes' }],
        })
    },
    chooseIn: async (transaction, imsis, { reach, boxes = [] }) => {
      const tx = parts.context.db.join(transaction)
      for (const hash of imsis) await REACHES.put(tx, { hash, reach, boxes: JSON.stringify(boxes) })
      const [first] = imsis
      if (first !== undefined) transaction.dirty(PLAN_RESOURCE, imsis.length === 1 ? first : ALL, true)
    },
    copyIn: async (transaction, from, to) => {
      const tx = parts.context.db.join(transaction)
      const chosen = await REACHES.find(tx, { hash: from })
      if (chosen === undefined) return
      await REACHES.put(tx, { ...chosen, hash: to })
      transaction.dirty(PLAN_RESOURCE, to, true)
    },
  }
}

/** `/v1/sims/{imsi}/reach` */
export function reachRoutes(parts: RoamingParts): readonly Route[] {
  return [getRoute(parts), putRoute(parts), manyRoute(parts)]
}

function getRoute(parts: RoamingParts): Route {
  return route<Params, unknown, unknown>({
    method: 'GET',
    path: '/v1/sims/:imsi/reach',
    role: 'viewer',
    summary: 'Get where a SIM works besides this box',
    description: 'Its reach, the boxes that it names, and the leases that other boxes hold.',
    schema: { params: SIM_PARAMS, response: RESPONSE },
    errors: ['sim_not_found'],
    handle: async ({ params }) => {
      await refuseUnknown(parts, params.imsi)
      return ok(await reachOf(parts, params.imsi, parts.context.db))
    },
  })
}

function putRoute(parts: RoamingParts): Route {
  const keeper = reachKeeper(parts)
  return route<Params, unknown, Body>({
    method: 'PUT',
    path: '/v1/sims/:imsi/reach',
    role: 'operator',
    summary: 'Choose where a SIM works besides this box',
    description:
      'Its keys then go to these boxes, sealed, as far as an admin has permitted them. It ends there within seconds when it no longer ' +
      'reaches them, and by time where they are not reached.',
    example: { reach: 'mesh' },
    schema: {
      params: SIM_PARAMS,
      body: objectSchema(REACH_FIELDS, ['reach']),
      response: RESPONSE,
    },
    audit: 'sim.reach',
    errors: ['sim_not_found', 'validation_failed', 'node_state_conflict'],
    handle: async (request) => {
      const { params, body } = request
      await refuseUnknown(parts, params.imsi)
      const { boxes = [], reach } = body
      keeper.check(body)
      return await request.mutate(params.imsi, async (tx) => {
        await keeper.chooseIn(tx, [params.imsi], body)
        tx.audit({ detail: { reach, boxes } })
        return { body: await reachOf(parts, params.imsi, tx) }
      })
    },
  })
}

interface ManyBody extends Body {
  readonly batch_id?: string
  readonly ids?: readonly ImsiHash[]
}
const MOST_IDS = 1_000
const CHUNK = 500

function manyRoute(parts: RoamingParts): Route {
  const keeper = reachKeeper(parts)
  return route<unknown, unknown, ManyBody>({
    method: 'POST',
    path: '/v1/roaming/reach',
    role: 'operator',
    summary: 'Choose where many SIMs work: those of a batch, or those that are named',
    description: 'As for one SIM, for all of them at once.',
    example: { batch_id: 'b-20261121-abcdefghjkmn', reach: 'mesh' },
    schema: {
      body: objectSchema(
        {
          batch_id: { type: 'string', pattern: BATCH_ID_PATTERN },
          ids: { type: 'array', items: IMSI_HASH, minItems: 1, maxItems: MOST_IDS, uniqueItems: true },
          ...REACH_FIELDS,
        },
        ['reach'],
      ),
      response: recordSchema({ changed: { type: 'integer' } }),
    },
    audit: 'sim.reach',
    errors: ['validation_failed', 'node_state_conflict'],
    handle: async (request) => {
      const { batch_id: batch, ids = [], boxes = [], reach } = request.body
      keeper.check(request.body)
      if ((batch === undefined) === (ids.length === 0))
        throw validationFailed('name either a batch (/batch_id) or SIMs (/ids)', {
          details: [{ pointer: '', message: 'has either batch_id or ids' }],
        })
      const known = batch === undefined ? await among(parts, ids) : await hashesOf(parts, batch)
      return await request.mutate(batch ?? 'sims', async (tx) => {
        await keeper.chooseIn(tx, known, request.body)
        tx.audit({ detail: { reach, boxes, sims: known.length } })
        return { body: { changed: known.length } }
      })
    },
  })
}

async function among({ context }: RoamingParts, ids: readonly ImsiHash[]): Promise<readonly ImsiHash[]> {
  return (await context.use(simProvisioningRef).among(ids)).map(({ imsi }) => imsi)
}

async function hashesOf({ context }: RoamingParts, batch: string): Promise<readonly ImsiHash[]> {
  const issuer = context.use(simIssuerRef)
  const pages = keysetPages(
    (after) => issuer.batch(batch, after, CHUNK),
    ({ imsi }) => imsi,
  )
  const all: ImsiHash[] = []
  for await (const page of pages) all.push(...page.map(({ imsi }) => imsi))
  return all
}

async function refuseUnknown(parts: RoamingParts, imsi: ImsiHash): Promise<void> {
  if ((await among(parts, [imsi])).length === 0) throw simNotFound(imsi)
}

async function reachOf(parts: RoamingParts, hash: ImsiHash, reader: Reader): Promise<object> {
  const { default_reach: byDefault } = parts.context.config
  const chosen = await REACHES.find(reader, { hash })
  const others = (await othersOf(parts)) ?? new Map<string, { readonly name: string }>()
  const known = await allBoxes(reader)
  const permitted = new Map(
    known
      .filter(({ node_id, permitted_at_ms: at }) => at !== null && others.has(node_id))
      .map((box) => [box.node_id, box]),
  )
  const leases = new Map((await leasesOf(reader, hash)).map((lease) => [lease.node_id, lease]))
  const ids = new Set([
    ...[...leases]
      .filter(([, { wanted, told_revision, revision }]) => wanted !== 'ended' || told_revision < revision)
      .map(([id]) => id),
    ...reachedBoxes(chosen, byDefault, { places: permitted, called: await callersOf(reader, hash) }),
    ...(chosen?.reach === 'boxes' ? boxesIn(chosen) : []),
  ])
  return {
    imsi_sha256_12: hash,
    reach: chosen?.reach ?? byDefault,
    is_default: chosen === undefined,
    boxes: [...ids].map((node_id) => {
      const lease = leases.get(node_id)
      const box = known.find((one) => one.node_id === node_id)
      return {
        node_id,
        name: others.get(node_id)?.name ?? box?.name ?? null,
        state: lease?.wanted ?? (permitted.has(node_id) ? 'none' : 'not_permitted'),
        is_told: lease !== undefined && lease.told_revision === lease.revision,
        until: timestampOrNull(lease?.until_ms ?? null),
        problem: indProblem(parts) ?? lease?.problem ?? box?.problem ?? null,
        up_bytes: lease?.up_bytes ?? 0,
        down_bytes: lease?.down_bytes ?? 0,
      }
    }),
  }
}
