import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeStateConflict,
  ok,
  type Route,
  recordSchema,
  route,
} from '@steeple/contracts'
import { ALL, BOX, type Parts } from '../context.ts'
import { PARTS_SCHEMA, PERMITTED_SCHEMA } from '../document.ts'
import { PARTS, type PartName } from '../state.ts'
import { ONLY, PART_ROWS, PERMITS } from '../store.ts'
import { standing } from './apply.ts'
import { documentOf, hubOf, keptOf, permittedOf } from './kept.ts'

const STEERING: JsonSchema = recordSchema({
  hub: {
    ...recordSchema({ node_id: { type: 'string' }, mesh: { type: 'string' } }),
    type: ['object', 'null'],
    description: 'The root of the mesh; null: this box is the root of its own.',
  },
  permitted: { ...PERMITTED_SCHEMA, description: 'What the hub may set here.' },
  version: { type: ['integer', 'null'] },
  issued_at: NULLABLE_TIMESTAMP_SCHEMA,
  groups: { type: 'array', items: { type: 'string' } },
  state: { type: 'object', description: 'What the hub wants this box to have, permitted or not.' },
  parts: PARTS_SCHEMA,
})

/** `/v1/steering`: what the hub may set on this box. */
export function steeringRoutes(parts: Parts): readonly Route[] {
  const { context } = parts
  return [
    route({
      method: 'GET',
      path: '/v1/steering',
      role: 'admin',
      summary: 'Show what the hub wants this box to have, what it may set here, and where this box differs',
      description: 'Part by part, with the error of this box where it refused one.',
      schema: { response: STEERING },
      handle: async (request) => ok(await shown(parts, request.signal)),
    }),
    route<unknown, unknown, { readonly permitted: readonly PartName[] }>({
      method: 'PUT',
      path: '/v1/steering',
      role: 'admin',
      summary: 'Permit the hub to set parts of this box, or end that',
      description:
        'All parts that are permitted from now on; none is the beginning. It holds for this hub alone. No part makes this box transmit. ' +
        'Country, licence and allow-list come by licences alone: as somebody has signed them for this box who is in policy.license_keys. ' +
        'What was set stays when a permit ends.',
      example: { permitted: ['policy', 'alert_rules'] },
      schema: { body: recordSchema({ permitted: PERMITTED_SCHEMA }), response: STEERING },
      audit: 'groups.permit',
      errors: ['node_state_conflict'],
      handle: async (request) => {
        const hub = hubOf(parts)
        if (hub === undefined)
          throw nodeStateConflict('this box is the root of its own mesh: nobody else sets anything here')
        const { permitted } = request.body
        await request.mutate(hub.id, async (tx) => {
          const before = await permittedOf(parts, hub)
          await PERMITS.put(tx, {
            ...{ id: ONLY, hub_id: hub.id, ca_sha256: hub.caSha256 },
            ...{ parts: JSON.stringify(inOrder(permitted)), at_ms: context.clock.nowMs() },
          })
          // What is permitted anew is applied, whatever was done of it before.
          for (const part of permitted.filter((one) => !before.includes(one)))
            await PART_ROWS.remove(tx, { part })
          tx.audit({ detail: { mesh: hub.membership.meshName, permitted: inOrder(permitted), before } })
          tx.dirty(BOX, ALL, true)
          return { body: {} }
        })
        return ok(await shown(parts, request.signal))
      },
    }),
  ]
}

function inOrder(permitted: readonly PartName[]): readonly PartName[] {
  return PARTS.filter((part) => permitted.includes(part))
}

async function shown(parts: Parts, signal: AbortSignal): Promise<object> {
  const hub = hubOf(parts)
  const none = { version: null, issued_at: null, groups: [], state: {}, parts: [] }
  if (hub === undefined) return { hub: null, permitted: [], ...none }
  const permitted = await permittedOf(parts, hub)
  const about = { hub: { node_id: hub.id, mesh: hub.membership.meshName }, permitted }
  const kept = await keptOf(parts, hub)
  if (kept === undefined) return { ...about, ...none }
  const document = documentOf(kept)
  const { version, issued_at, groups, state } = document
  const stands = await standing(parts, { hub, document, permitted }, signal)
  return { ...about, version, issued_at, groups, state, parts: stands }
}
