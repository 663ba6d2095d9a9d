import {
  type Clock,
  namesTag,
  type PolicyBundle,
  policyConflict,
  type Reply,
  type Request,
  type Route,
  route,
} from '@steeple/contracts'
import { BUNDLE_PATCH_SCHEMA, BUNDLE_SCHEMA } from '../bundle/bundle-schema.ts'
import { changeBundle } from '../bundle/change-bundle.ts'
import type { ChangedKey } from '../bundle/changed-keys.ts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { principalText } from '../store.ts'
import { TX_KEY, TX_RESOURCE } from '../tx/gate-memory.ts'
import type { TxControl } from '../tx/tx-control.ts'
import { endOfOtherLicense } from './license-routes.ts'

/** The entity tag of a revision: `"7"`. Source: RFC 9110 §8.8.3. */
export function etagOf(revision: number): string {
  return `"${revision}"`
}

/**
 * Whether an `If-Match` header names the revision.
 *
 * `*` names any. Weak tags and bare numbers count too: a revision never has two contents.
 */
export function namesRevision(header: string, revision: number): boolean {
  return namesTag(header, (tag) => tag === String(revision))
}

/** Characters of JSON above which the audit entry holds the size of a changed value instead of the value. */
const AUDITED_LENGTH = 2_000

/** `GET` and `PUT /v1/policy`. */
export function policyRoutes(policy: CurrentPolicy, control: TxControl, clock: Clock): readonly Route[] {
  const update = (request: Request<unknown, unknown, unknown>): Promise<Reply> =>
    request.mutate('policy', async (tx) => {
      const before = await policy.read(tx)
      refuseStale(request.header('if-match'), before.revision)
      const author = { by: principalText(request.principal), nowMs: clock.nowMs() }
      const { content, changes } = changeBundle(before, request.body, author)
      const bundle = changes.length === 0 ? before : await policy.write(tx, content, author)
      await control.changeLicense(tx, before, bundle, author.by)
      await endOfOtherLicense(tx, bundle.spectrum.license.reference, { atMs: author.nowMs, by: author.by })
      tx.audit({ detail: { revision: bundle.revision, changes: changes.map(auditedChange) } })
      tx.dirty(TX_RESOURCE, TX_KEY)
      return bundleReply(bundle)
    })
  return [
    route({
      method: 'GET',
      path: '/v1/policy',
      role: 'viewer',
      summary: 'Show the policy bundle in force',
      description: 'The ETag is the revision; with a matching If-None-Match the answer is 304.',
      schema: { response: BUNDLE_SCHEMA },
      conditional: true,
      errors: ['store_corrupt'],
      handle: async () => bundleReply(await policy.refresh()),
    }),
    route({
      method: 'PUT',
      path: '/v1/policy',
      role: 'operator',
      example: { rate_limits: { sim_issue_per_hour: 1_000 } },
      summary: 'Change the policy',
      description:
        'The changed keys alone, merged by RFC 7396; the result is validated as a whole and answered. With If-Match a ' +
        'stale revision is refused. It takes effect at once. Read-only keys are refused.',
      schema: { body: BUNDLE_PATCH_SCHEMA, response: BUNDLE_SCHEMA },
      errors: ['validation_failed', 'policy_conflict', 'store_corrupt'],
      audit: 'policy.update',
      guarded: true,
      handle: update,
    }),
  ]
}

function refuseStale(ifMatch: string | undefined, revision: number): void {
  if (ifMatch !== undefined && !namesRevision(ifMatch, revision)) throw policyConflict(revision, ifMatch)
}

function bundleReply(bundle: PolicyBundle): Reply {
  return { status: 200, body: bundle, headers: { etag: etagOf(bundle.revision) } }
}

function auditedChange(change: ChangedKey): ChangedKey {
  return { key: change.key, old: auditedValue(change.old), new: auditedValue(change.new) }
}

function auditedValue(value: unknown): unknown {
  const length = JSON.stringify(value).length
  return length > AUDITED_LENGTH ? `(${length} characters of JSON)` : value
}
