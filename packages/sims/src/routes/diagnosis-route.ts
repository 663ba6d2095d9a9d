import { objectSchema, ok, type Route, route, SIM_PARAMS, simNotFound } from '@steeple/contracts'
import { diagnose } from '../diagnosis/diagnose.ts'
import type { SimsParts } from '../parts.ts'
import { SIMS } from '../store/sim-store.ts'
import type { SimParams } from './read-routes.ts'

const CHECK = objectSchema(
  {
    name: {
      type: 'string',
      description:
        'state, provisioning, subscriber, network, core, radio, attached, attempts or clock; more may come.',
    },
    status: { type: 'string', description: 'ok, warning, failed or unknown; more may come.' },
    detail: { type: 'string' },
    advice: { type: ['string', 'null'], description: 'What to do about it.' },
  },
  ['name', 'status', 'detail', 'advice'],
)
const DIAGNOSIS = objectSchema(
  {
    imsi_sha256_12: { type: 'string' },
    verdict: { type: 'string', description: 'The first thing that keeps the phone off, in one sentence.' },
    checks: { type: 'array', items: CHECK },
  },
  ['imsi_sha256_12', 'verdict', 'checks'],
)

/** `GET /v1/sims/{imsi}/diagnosis` */
export function diagnosisRoute(parts: SimsParts): Route {
  return route<SimParams, unknown, unknown>({
    method: 'GET',
    path: '/v1/sims/:imsi/diagnosis',
    role: 'viewer',
    summary: 'Show why the phone of a SIM is not on the network, and what to do',
    description: 'Asks the HSS and the core now, for at most 5 s: what does not answer in time is unknown.',
    schema: { params: SIM_PARAMS, response: DIAGNOSIS },
    errors: ['sim_not_found', 'store_corrupt'],
    handle: async (request) => {
      const hash = request.params.imsi
      const row = await SIMS.find(parts.context.db, { hash })
      if (row === undefined) throw simNotFound(hash)
      return ok({ imsi_sha256_12: hash, ...(await diagnose(parts, row, request.signal)) })
    },
  })
}
