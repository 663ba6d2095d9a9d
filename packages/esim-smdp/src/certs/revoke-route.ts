import { type JsonSchema, objectSchema, type Route, route, validationFailed } from '@steeple/contracts'
import { REVOKED } from '../store/rows.ts'
import { esimCertConflict, esimCertNotFound } from './errors.ts'
import { type CertParts, keepRevocations } from './keep.ts'
import { revocationId, revocationIdOf } from './revoked.ts'

interface RevokeBody {
  readonly id?: string
  readonly issuer?: string
  readonly serial?: string
  readonly restore?: boolean
}

const BODY: JsonSchema = objectSchema({
  id: { type: 'string', pattern: '^[0-9a-f]{64}$', maxLength: 64, description: 'Of one that is listed.' },
  issuer: {
    type: 'string',
    pattern: '^[0-9a-fA-F]{40}$',
    maxLength: 40,
    description: 'Key identifier of the issuer: of the CI for an EUM, of the EUM for an eUICC.',
  },
  serial: { type: 'string', pattern: '^[0-9a-fA-F]{2,64}$', maxLength: 64, description: 'Hexadecimal.' },
  restore: { type: 'boolean', description: 'Believe it again, when it was revoked here by hand.' },
})
const RESPONSE: JsonSchema = objectSchema(
  { issuer: { type: 'string' }, serial: { type: 'string' }, revoked: { type: 'boolean' } },
  ['issuer', 'serial', 'revoked'],
)

/** `POST /v1/esim/certs/revoke`: an EUM, an eUICC or a certificate of this service is not believed any more. */
export function revokeRoute(parts: CertParts): Route {
  return route<unknown, unknown, RevokeBody>({
    method: 'POST',
    path: '/v1/esim/certs/revoke',
    role: 'admin',
    summary: 'Take back a certificate: of a maker of eUICCs, of an eUICC, or an own one',
    description:
      'By its id, or by issuer and serial number when it is not listed here. eUICCs below it get nothing any more, downloads that are ' +
      'under way end; what was delivered stays. The CI of a phone knows nothing of it. With restore it is believed again.',
    example: { id: '0'.repeat(64) },
    schema: { body: BODY, response: RESPONSE },
    audit: 'esim_cert.revoke',
    errors: [esimCertNotFound.code, esimCertConflict.code],
    handle: async (request) => {
      const id = meant(parts, request.body)
      const isRestored = request.body.restore === true
      const reply = await request.mutate(id, async (tx) => {
        const known = await REVOKED.find(tx, { id })
        if (isRestored) {
          if (known?.source === 'list')
            throw esimCertConflict('its CI has revoked it by a list; nobody here can take that back')
          await REVOKED.remove(tx, { id })
          tx.audit({ detail: { restored: true } })
        } else if (known === undefined) await keepRevocations(tx, parts, [id], 'hand')
        const [issuer = '', serial = ''] = id.split(' ')
        return { body: { issuer, serial, revoked: !isRestored } }
      })
      await parts.certs.reload()
      return reply
    },
  })
}

/** Throws `validation_failed`, `esim_cert_not_found`, `esim_cert_conflict`. */
function meant({ certs }: CertParts, { id, issuer, serial }: RevokeBody): string {
  if (id === undefined && issuer !== undefined && serial !== undefined) return revocationId(issuer, serial)
  if (id === undefined || issuer !== undefined || serial !== undefined)
    throw validationFailed('name the certificate by its id, or by issuer and serial', {
      details: [{ pointer: '', message: 'has to have either id, or issuer and serial' }],
    })
  const one = certs.all().find(({ row }) => row.id === id)
  if (one === undefined) throw esimCertNotFound(id)
  if (one.row.role === 'ci')
    throw esimCertConflict('a CI stands for itself; remove it and what is below it to believe it no more')
  return revocationIdOf(one.certificate)
}
