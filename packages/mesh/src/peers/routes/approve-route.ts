import {
  type ErrorDetail,
  nodeStateConflict,
  objectSchema,
  peerNotFound,
  type Route,
  route,
} from '@steeple/contracts'
import { parseEndpoint } from '../endpoint.ts'
import { isAdvertisingAllowed, spelled } from '../grounds.ts'
import { LINK_KEY, LINK_RESOURCE, type PeersParts } from '../parts.ts'
import { allPeers, listOf, PEERS, peerById } from '../peer-store.ts'
import { PEER_SCHEMA, peerRecord } from '../record.ts'
import { ROUTES_SCHEMA, refuse, routeDetails } from './bodies.ts'
import { PEER_PARAMS, type PeerParams } from './peer-routes.ts'

interface ApproveBody {
  readonly routes: readonly string[]
}

/** `POST /v1/peers/{id}/approve`: which of the routes that a peer advertises are used. */
export function approveRoute(parts: PeersParts): Route {
  const { context, board } = parts
  return route<PeerParams, unknown, ApproveBody>({
    method: 'POST',
    path: '/v1/peers/:id/approve',
    role: 'operator',
    summary: 'Approve the routes of a peer',
    description:
      'The list replaces what was approved; an empty one takes all of it back. To approve anything the policy must say mesh.allow_route_advertise. A network that several peers have is routed to one of them that is active.',
    example: { routes: ['10.20.0.0/16'] },
    schema: {
      params: PEER_PARAMS,
      body: objectSchema({ routes: ROUTES_SCHEMA }, ['routes']),
      response: PEER_SCHEMA,
    },
    errors: ['peer_not_found', 'validation_failed', 'node_state_conflict', 'store_corrupt'],
    audit: 'peer.approve',
    handle: async (request) => {
      const { id } = request.params
      const { routes } = request.body
      return await request.mutate(id, async (tx) => {
        const rows = await allPeers(tx)
        const row = await peerById(tx, id)
        if (row === undefined || row.removed_at_ms !== null) throw peerNotFound(id)
        if (routes.length > 0 && !isAdvertisingAllowed(parts))
          throw nodeStateConflict(
            'mesh.allow_route_advertise of the policy is false: routes cannot be approved',
          )
        const advertised = listOf(row.advertised)
        const unknown = routes.flatMap((text, index): readonly ErrorDetail[] =>
          advertised.includes(spelled(text))
            ? []
            : [{ pointer: `/routes/${index}`, message: 'is not advertised by this peer' }],
        )
        const host = row.endpoint === null ? undefined : parseEndpoint(row.endpoint)?.host
        const isNew = routes.map((text) => !listOf(row.approved).includes(spelled(text)))
        const wrong = routeDetails(parts, routes, rows, { endpoint: host, ownId: id }).filter(
          ({ pointer }) => isNew[Number(pointer.split('/').at(-1))] ?? true,
        )
        refuse([...unknown, ...wrong])
        const approved = {
          ...row,
          approved: JSON.stringify(routes.map(spelled)),
          changed_at_ms: context.clock.nowMs(),
        }
        await PEERS.put(tx, approved)
        tx.audit({ detail: { name: row.name, routes } })
        tx.event({ type: 'peer.approve', subject: id, data: { name: row.name, routes } })
        tx.dirty(LINK_RESOURCE, LINK_KEY, true)
        return { body: peerRecord(approved, board, context.config.enabled) }
      })
    },
  })
}
