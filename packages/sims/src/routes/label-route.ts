import {
  changeTag,
  type JsonSchema,
  objectSchema,
  type Route,
  refuseStale,
  route,
  SIM_PARAMS,
  staleChange,
} from '@steeple/contracts'
import { NAME_SCHEMA } from '../issue/issue-schema.ts'
import type { SimsParts } from '../parts.ts'
import { changedPart, recordOf, SIM_SCHEMA } from '../record.ts'
import { relabel } from './bulk-route.ts'
import type { SimParams } from './read-routes.ts'

const BODY: JsonSchema = objectSchema(
  { label: { ...NAME_SCHEMA, type: ['string', 'null'], description: 'null removes it.' } },
  ['label'],
)

/** `POST /v1/sims/{imsi}/label` */
export function labelRoute(parts: SimsParts): Route {
  return route<SimParams, unknown, { readonly label: string | null }>({
    method: 'POST',
    path: '/v1/sims/:imsi/label',
    role: 'sim:issuer',
    summary: 'Give a SIM a label, to find it again',
    description: 'A text for people: a name, a place, a shelf. null takes it away.',
    schema: { params: SIM_PARAMS, body: BODY, response: SIM_SCHEMA },
    errors: ['sim_not_found', staleChange.code, 'store_corrupt'],
    audit: 'sim.label',
    guarded: true,
    handle: async (request) => {
      const { imsi: hash } = request.params
      return await request.mutate(hash, async (tx) => {
        const { before, after } = await relabel(tx, hash, request.body.label)
        refuseStale(request.header('if-match'), changedPart(before), `the SIM ${hash}`)
        // A label may be a person's name, which the trail has no need of.
        tx.audit({ detail: { is_changed: before !== after } })
        tx.event({ type: 'sim.label', subject: hash, data: {} })
        const body = await recordOf(parts, after, tx)
        return { body, headers: { etag: changeTag(changedPart(after), body) } }
      })
    },
  })
}
