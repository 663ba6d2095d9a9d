import { type Route, route } from '@steeple/contracts'
import { issueSims } from '../issue/issue.ts'
import { ISSUE_BODY, ISSUE_RESULT, type IssueBody } from '../issue/issue-schema.ts'
import type { SimsParts } from '../parts.ts'

/** `POST /v1/sims` */
export function issueRoute(parts: SimsParts): Route {
  return route<unknown, unknown, IssueBody | undefined>({
    method: 'POST',
    path: '/v1/sims',
    role: 'sim:issuer',
    example: { count: 10, label: 'harbour' },
    summary: 'Issue SIMs',
    description:
      'The answer means that the SIMs are durable; provisioning follows by itself and is shown per SIM. The limit ' +
      'sim_issue counts SIMs, not requests. With replaces it counts against sim_revoke as well and needs sim:admin, ' +
      'unless the same principal has issued the replaced SIM within the last hour.',
    schema: { body: ISSUE_BODY, response: ISSUE_RESULT, status: 201 },
    errors: [
      'validation_failed',
      'plmn_mismatch',
      'sim_exists',
      'sim_not_found',
      'sim_state_conflict',
      'sim_swap_cooldown',
      'capacity_exceeded',
      'forbidden',
      'rate_limited',
    ],
    audit: 'sim.issue',
    rateLimit: { name: 'sim_issue', cost: (body: IssueBody | undefined) => body?.count ?? 1 },
    handle: (request) => issueSims(parts, request),
  })
}
