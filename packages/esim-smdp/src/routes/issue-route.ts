import { type Route, route } from '@steeple/contracts'
import { type EsimIssueBody, ISSUE_ANSWER, issueBodySchema } from '../codes/issue-body.ts'
import { issueCodes } from '../codes/issue-codes.ts'
import type { EsimParts } from '../parts.ts'

/** `POST /v1/esim/issue` */
export function issueRoute(parts: EsimParts): Route {
  return route<unknown, unknown, EsimIssueBody | undefined>({
    method: 'POST',
    path: '/v1/esim/issue',
    role: 'sim:issuer',
    summary: 'Issue activation codes',
    description:
      'A code for a SIM that exists, for each of a batch that has none, or for new SIMs as POST /v1/sims makes them, with ' +
      'replaces too: so a subscriber moves from a card to an eSIM. expires_in is how long the code can be used. A code of the same SIM ' +
      'that nobody has downloaded yet is revoked. Codes count against the limit sim_issue. The activation codes are shown here and by ' +
      'GET /v1/esim/codes/{token}/qr; nothing else shows them.',
    example: { label: 'ann', confirmation_code: '4711' },
    schema: { body: issueBodySchema(parts.issuer.bodySchema), response: ISSUE_ANSWER, status: 201 },
    errors: [
      'validation_failed',
      'esim_disabled',
      'esim_not_ready',
      'esim_code_conflict',
      'not_found',
      'sim_not_found',
      'sim_state_conflict',
      'plmn_mismatch',
      'sim_exists',
      'sim_swap_cooldown',
      'capacity_exceeded',
      'forbidden',
      'rate_limited',
      'store_corrupt',
    ],
    audit: 'esim.issue',
    rateLimit: {
      name: 'sim_issue',
      // Those of a batch are counted when it is known how many have none.
      cost: (body: EsimIssueBody | undefined) => (body?.batch_id === undefined ? (body?.count ?? 1) : 0),
    },
    handle: (request) => issueCodes(parts, request),
  })
}
