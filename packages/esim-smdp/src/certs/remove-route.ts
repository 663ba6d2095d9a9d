import { type JsonSchema, objectSchema, type Route, route } from '@steeple/contracts'
import { CERTS, DROPPED } from '../store/rows.ts'
import { esimCertConflict, esimCertNotFound } from './errors.ts'
import type { HeldCertificate } from './held.ts'
import { ownCiOf } from './hierarchy.ts'
import type { CertParts } from './keep.ts'

/** Which certificate a path means. */
export interface CertParams {
  readonly id: string
}
/** Schema of `CertParams`. */
export const PARAMS: JsonSchema = objectSchema(
  {
    id: {
      type: 'string',
      maxLength: 64,
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of the certificate.',
    },
  },
  ['id'],
)
/** `DELETE /v1/esim/certs/{id}` */
export function removeRoute(parts: CertParts): Route {
  return route<CertParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/esim/certs/:id',
    role: 'admin',
    summary: 'Remove a certificate and its key',
    description:
      'The folder esim.certs_dir does not bring it back, whatever lies there; an import by hand does.',
    schema: { params: PARAMS, status: 204 },
    audit: 'esim_cert.remove',
    errors: [esimCertNotFound.code, esimCertConflict.code],
    handle: async (request) => {
      const { id } = request.params
      const reply = await request.mutate(id, async (tx) => {
        const row = await CERTS.find(tx, { id })
        if (row === undefined) throw esimCertNotFound(id)
        const below = await CERTS.select(tx, "where ci_pkid = :ci and role <> 'ci' limit 1", {
          ci: row.ci_pkid,
        })
        if (row.role === 'ci' && below.length > 0)
          throw esimCertConflict('certificates of this CI are still here; remove them first')
        if (
          isBelieved(
            parts.certs.all().find((one) => one.row.id === id),
            parts.certs.all(),
          )
        )
          throw esimCertConflict(
            'eUICCs of this EUM are believed by its signature, here or not; svc esim certs revoke ends that, then remove it',
          )
        await CERTS.remove(tx, { id })
        await DROPPED.put(tx, { id, at_ms: parts.context.clock.nowMs() })
        tx.audit({ detail: { role: row.role, curve: row.curve } })
        return { status: 204 }
      })
      await parts.certs.reload()
      return reply
    },
  })
}

/** A maker of eUICCs that was signed for here, and not taken back. */
function isBelieved(one: HeldCertificate | undefined, held: readonly HeldCertificate[]): boolean {
  return one?.row.role === 'eum' && one.isRevoked !== true && ownCiOf(one, held) !== undefined
}
