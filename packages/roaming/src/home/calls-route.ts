import {
  createPause,
  forbidden,
  type JsonSchema,
  keysetPages,
  ok,
  type Request,
  type Route,
  rateLimited,
  recordSchema,
  route,
  simProvisioningRef,
} from '@steeple/contracts'
import { type BoxKey, callNames, ownKey } from '../envelope.ts'
import { PLAN_RESOURCE, type RoamingParts } from '../parts.ts'
import { BOXES, CALLS, type KeyRow } from '../store.ts'
import { CALLS_AT_ONCE } from '../wire.ts'

/** Each question has all SIMs looked through. */
const EACH_MS = 1_000
const CHUNK = 500

const KEY: JsonSchema = recordSchema({
  id: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  x: { type: 'string', pattern: '^[\\w-]{43}$', description: 'X25519, base64url.' },
})
const NAMES: JsonSchema = {
  type: 'array',
  maxItems: CALLS_AT_ONCE,
  items: { type: 'string', pattern: '^[0-9a-f]{32}$' },
}

interface Body {
  readonly key: BoxKey
  readonly names: readonly string[]
}

/** `POST /v1/roaming/calls`: phones have come to another box that it does not know; are their SIMs of this one? */
export function callsRoute(parts: RoamingParts): Route {
  const askedAt = new Map<string, number>()
  return route<unknown, unknown, Body>({
    method: 'POST',
    path: '/v1/roaming/calls',
    role: 'node',
    summary: 'Ask for SIMs of phones that came to another box',
    description:
      'A member of the mesh. It names each SIM by a keyed hash that only the two boxes can make. SIMs of reach on_demand are given to it when an ' +
      'admin has permitted it. Without names it answers the key of this box.',
    example: { key: { id: '0123456789abcdef', x: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }, names: [] },
    schema: {
      body: recordSchema({ key: KEY, names: NAMES }),
      response: recordSchema({ key: KEY, taken: { ...NAMES, description: 'Those whose SIMs it gets.' } }),
    },
    audit: 'roaming.call',
    errors: ['forbidden', 'validation_failed', 'rate_limited'],
    handle: async (request) => {
      const { principal, body } = request
      if (principal.kind !== 'node' || principal.id === parts.node.nodeId)
        throw forbidden('node, another than this one')
      const own = await ownKey(parts)
      const key = { id: own.id, x: own.x }
      const box = await BOXES.find(parts.context.db, { node_id: principal.id })
      const isPermitted = box !== undefined && box.permitted_at_ms !== null
      // Who may not have them learns nothing of which SIMs there are.
      if (body.names.length === 0 || !isPermitted) return ok({ key, taken: [] })
      const nowMs = parts.context.clock.monotonicMs()
      const sinceMs = nowMs - (askedAt.get(principal.id) ?? Number.NEGATIVE_INFINITY)
      if (sinceMs < EACH_MS) throw rateLimited('this box asks too often; again in 1 s', { retryAfterS: 1 })
      askedAt.set(principal.id, nowMs)
      const found = await named(parts, own, request)
      return ok({ key, taken: await take(request, found, parts.context.clock.nowMs()) })
    },
  })
}

/** Hashes of SIMs of this box by the names that they are asked for by. */
async function named(
  { context, vault, node }: RoamingParts,
  own: KeyRow,
  { principal, body }: Request<unknown, unknown, Body>,
): Promise<ReadonlyMap<string, string>> {
  const nameOf = callNames(vault, own, body.key, { asker: principal.id, asked: node.nodeId })
  const wanted = new Set(body.names)
  const found = new Map<string, string>()
  const sims = context.use(simProvisioningRef)
  const pause = createPause()
  const pages = keysetPages(
    (after) => sims.list(after, CHUNK),
    ({ imsi }) => imsi,
  )
  for await (const page of pages) {
    for (const { imsi, wanted: state } of page) {
      const name = nameOf(imsi)
      if (state === 'open' && wanted.has(name)) found.set(name, imsi)
      await pause()
    }
    if (found.size === wanted.size) break
  }
  return found
}

/** Writes down that these SIMs are wanted there. What their reach says of it is for the plan. */
async function take(
  request: Request<unknown, unknown, Body>,
  found: ReadonlyMap<string, string>,
  at_ms: number,
): Promise<readonly string[]> {
  const { principal } = request
  if (found.size === 0) return []
  await request.mutate(principal.id, async (tx) => {
    for (const hash of found.values()) {
      await CALLS.put(tx, { hash, node_id: principal.id, at_ms })
      tx.dirty(PLAN_RESOURCE, hash, true)
    }
    tx.audit({ detail: { box: principal.name, sims: [...found.values()] } })
    return { body: {} }
  })
  return [...found.keys()]
}
