import {
  type Context,
  type CoreDriver,
  coreChangesRef,
  coreDriverRef,
  coreOutlookRecord,
  isServiceError,
  type MutationTx,
  namesTag,
  objectSchema,
  type PolicyBundle,
  policyConflict,
  type Reply,
  type Request,
  type Route,
  route,
  type Settings,
  validationFailed,
} from '@steeple/contracts'
import { BUNDLE_PATCH_SCHEMA, BUNDLE_SCHEMA, CHANGED_BUNDLE_SCHEMA } from '../bundle/bundle-schema.ts'
import { changeBundle } from '../bundle/change-bundle.ts'
import { type ChangedKey, isSame } from '../bundle/changed-keys.ts'
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
export function policyRoutes(context: Context, policy: CurrentPolicy, control: TxControl): readonly Route[] {
  const { clock } = context
  const update = async (request: Request<unknown, PutQuery, unknown>): Promise<Reply> => {
    await refuseUnplaced(context, policy, request)
    if (request.query.dry_run === true) return await triedReply(context, policy, request)
    return await request.mutate('policy', async (tx) => {
      const before = await policy.read(tx)
      refuseStale(request.header('if-match'), before.revision)
      const author = { by: principalText(request.principal), nowMs: clock.nowMs() }
      return bundleReply(await changePolicy({ policy, control }, tx, { before, patch: request.body, author }))
    })
  }
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
    route<unknown, PutQuery, unknown>({
      method: 'PUT',
      path: '/v1/policy',
      role: 'operator',
      example: { rate_limits: { sim_issue_per_hour: 1_000 } },
      summary: 'Change the policy',
      description:
        'The changed keys alone, merged by RFC 7396; the result is validated as a whole and answered. With If-Match a ' +
        'stale revision is refused. It takes effect at once. Read-only keys are refused, and APNs for which the pools of a core ' +
        'that the service drives have no room. A dry run changes nothing: the answer is what it would be, and in `core` what it ' +
        'would do to the core.',
      schema: {
        query: objectSchema({ dry_run: { type: 'boolean' } }),
        body: BUNDLE_PATCH_SCHEMA,
        response: CHANGED_BUNDLE_SCHEMA,
      },
      errors: ['validation_failed', 'policy_conflict', 'store_corrupt'],
      audit: 'policy.update',
      guarded: true,
      handle: update,
    }),
  ]
}

interface PutQuery {
  readonly dry_run?: boolean
}

/** What a change would make of the policy, and of the core. */
async function triedReply(
  context: Context,
  policy: CurrentPolicy,
  request: Request<unknown, PutQuery, unknown>,
): Promise<Reply> {
  const { body, principal, signal } = request
  const before = await policy.refresh()
  refuseStale(request.header('if-match'), before.revision)
  const author = { by: principalText(principal), nowMs: context.clock.nowMs() }
  const { content } = changeBundle(before, body, author)
  const isSameApns = isSame(before.apns, content.apns)
  const outlook = isSameApns
    ? undefined
    : await context.maybe(coreChangesRef)?.outlook({ apns: content.apns }, signal)
  return { status: 200, body: { ...before, ...content, core: coreOutlookRecord(outlook) } }
}

/** Writes a changed policy, and what follows of it. Throws `validation_failed`. */
export async function changePolicy(
  { policy, control }: { readonly policy: CurrentPolicy; readonly control: TxControl },
  tx: MutationTx,
  {
    before,
    patch,
    author,
    detail = {},
  }: {
    readonly before: PolicyBundle
    readonly patch: unknown
    readonly author: { readonly by: string; readonly nowMs: number }
    /** Of the audit entry, besides what has changed. */
    readonly detail?: object
  },
): Promise<PolicyBundle> {
  const { content, changes } = changeBundle(before, patch, author)
  const bundle = changes.length === 0 ? before : await policy.write(tx, content, author)
  await control.changeLicense(tx, before, bundle, author.by)
  await endOfOtherLicense(tx, bundle.spectrum.license.reference, { atMs: author.nowMs, by: author.by })
  tx.audit({ detail: { ...detail, revision: bundle.revision, changes: changes.map(auditedChange) } })
  tx.dirty(TX_RESOURCE, TX_KEY)
  return bundle
}

/** A core that is driven must be able to take other APNs: its driver knows whether its pools leave them addresses. */
async function refuseUnplaced(
  context: Context,
  policy: CurrentPolicy,
  { body, principal }: Request<unknown, PutQuery, unknown>,
): Promise<void> {
  const { southbound } = context.settings
  const driver = southbound.driver === 'none' ? undefined : context.maybe(coreDriverRef)
  if (driver === undefined) return
  const before = await policy.refresh()
  const author = { by: principalText(principal), nowMs: context.clock.nowMs() }
  const { content } = changeBundle(before, body, author)
  if (isSame(before.apns, content.apns)) return
  const problem = await problemOf(driver, context.settings, content.apns)
  // One that was there before may go with these APNs, or with others.
  if (problem !== undefined && problem !== (await problemOf(driver, context.settings, before.apns)))
    throw validationFailed(`the core cannot take these APNs: ${problem}`, {
      details: [{ pointer: '/apns', message: problem }],
    })
}

/** Why a core cannot be set to these APNs, in the driver's words. What is no fault of theirs is said by the core. */
async function problemOf(
  driver: CoreDriver,
  { plmn, tac, policy }: Settings,
  apns: readonly string[],
): Promise<string | undefined> {
  try {
    await driver.render({ plmn, tac, apns, maxUes: policy.max_ues })
    return undefined
  } catch (error) {
    return isServiceError(error) && error.code === validationFailed.code ? error.message : undefined
  }
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
