import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  ok,
  pageFrom,
  pageSchema,
  type Route,
  route,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import { eidOfRow, heldBy, shownEid } from '../store/euicc-store.ts'
import { EUICCS, type EuiccRow, type HeldRow } from '../store/rows.ts'

const PROFILE: JsonSchema = objectSchema({
  token: { type: 'string', description: 'The code that it was delivered by.' },
  imsi_sha256_12: { type: 'string' },
  state: {
    type: 'string',
    enum: ['delivered', 'installed', 'enabled', 'disabled', 'deleted', 'failed'],
    description: 'As the device reported last. It reports when it can, and its user can turn that off.',
  },
  delivered_at: NULLABLE_TIMESTAMP_SCHEMA,
  installed_at: NULLABLE_TIMESTAMP_SCHEMA,
  enabled_at: NULLABLE_TIMESTAMP_SCHEMA,
  disabled_at: NULLABLE_TIMESTAMP_SCHEMA,
  deleted_at: NULLABLE_TIMESTAMP_SCHEMA,
})
const EUICC: JsonSchema = objectSchema({
  eid_sha256_12: { type: 'string', description: 'The first 12 characters of the SHA-256 of its EID.' },
  authority: {
    type: ['string', 'null'],
    description:
      'CI of its EID: own (the key of the CI is here), test (the key of the CI is published), otherwise the key ' +
      'identifier of the CI. The same EID under two CIs means two eUICCs. Null: last seen by a version that did not ' +
      'check.',
  },
  eid_last4: { type: 'string' },
  first_seen_at: NULLABLE_TIMESTAMP_SCHEMA,
  last_seen_at: NULLABLE_TIMESTAMP_SCHEMA,
  locked_until: {
    ...NULLABLE_TIMESTAMP_SCHEMA,
    description: 'It has failed too often and has to wait until then.',
  },
  failures: { type: 'integer', description: 'Failed attempts since its last download, at most of a day.' },
  profiles: { type: 'array', items: PROFILE },
})
/** The eUICCs that have been here, and what they hold. */
export function euiccRoutes({ context, vault }: EsimParts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/esim/euiccs',
      // It shows no secret: neither matching ids nor whole EIDs.
      role: 'viewer',
      summary: 'List the eUICCs that have downloaded here, and the states of their profiles',
      description:
        'An eUICC is known by its EID and the CI that vouches for it. Of the EID the last four digits are shown.',
      schema: {
        response: pageSchema('euiccs', EUICC),
      },
      errors: ['store_corrupt'],
      paged: true,
      handle: async (request) => {
        const page = request.page()
        const [after = ''] = page.after ?? []
        const rows = await EUICCS.select(
          context.db,
          'where eid_hash > :after order by eid_hash limit :limit',
          { after, limit: page.limit + 1 },
        )
        const hashes = rows.map(({ eid_hash }) => eid_hash)
        const held = await heldBy(context.db, hashes)
        const record = (row: EuiccRow): object => ({
          eid_sha256_12: shownEid(eidOfRow(vault, row)),
          ...euiccRecord(row, held.get(row.eid_hash) ?? [], context.clock.nowMs()),
        })
        return ok(await pageFrom(page, 'euiccs', rows, record, ({ eid_hash }) => [eid_hash]))
      },
    }),
  ]
}

function euiccRecord(row: EuiccRow, held: readonly HeldRow[], nowMs: number): object {
  const isLocked = row.locked_until_ms !== null && row.locked_until_ms > nowMs
  return {
    authority: row.authority,
    eid_last4: row.eid_last4,
    first_seen_at: timestampFromMs(row.first_seen_ms),
    last_seen_at: timestampFromMs(row.last_seen_ms),
    locked_until: isLocked ? timestampOrNull(row.locked_until_ms) : null,
    failures: row.failures,
    profiles: held.map((each) => ({
      token: each.token,
      imsi_sha256_12: each.hash,
      state: each.state,
      delivered_at: timestampOrNull(each.delivered_at_ms),
      installed_at: timestampOrNull(each.installed_at_ms),
      enabled_at: timestampOrNull(each.enabled_at_ms),
      disabled_at: timestampOrNull(each.disabled_at_ms),
      deleted_at: timestampOrNull(each.deleted_at_ms),
    })),
  }
}
