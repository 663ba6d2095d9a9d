import { createPublicKey, type KeyObject } from 'node:crypto'
import { type JsonSchema, type Route, recordSchema, route, validationFailed } from '@steeple/contracts'
import { type Certificate, type Issued, issueEum, type RspCurve } from '@steeple/sgp22'
import { authorityOf } from './authority.ts'
import { fits, type HeldCertificate, type NewCertificate } from './held.ts'
import { type CertParts, esimCertConflict, keepCertificates, makeLabCertificates } from './keep.ts'
import { isValidAt, newestFirst } from './sets.ts'

interface LabEumBody {
  readonly public_keys: readonly string[]
}

/** What EIDs of a lab begin with: 89 for telecommunications, no country. ITU-T E.118 §4. */
const LAB_IIN = '89999999'
/** That of SGP.26 for the test EUM. */
const EUM_ID = '2.999.5'
const YEARS_MS = 10 * 365 * 86_400_000
const EARLIER_MS = 3_600_000
const CURVE_NAMES: Readonly<Record<string, RspCurve>> = {
  prime256v1: 'P-256',
  brainpoolP256r1: 'brainpoolP256r1',
}

const BODY: JsonSchema = recordSchema({
  public_keys: {
    type: 'array',
    minItems: 1,
    maxItems: 2,
    items: { type: 'string', maxLength: 200, pattern: '^[A-Za-z0-9+/]+={0,2}$' },
    description:
      'One on each curve: SubjectPublicKeyInfo (DER) in base64. The private keys stay with their owner.',
  },
})
const EUM: JsonSchema = recordSchema({
  curve: { type: 'string' },
  iin: { type: 'string', description: 'What EIDs of its eUICCs have to begin with.' },
  ci: { type: 'string', description: 'The certificate of the CI, DER in base64.' },
  eum: { type: 'string', description: 'CERT.EUM, DER in base64.' },
})
const RESPONSE: JsonSchema = recordSchema({ eums: { type: 'array', items: EUM } })

/** `POST /v1/esim/certs/lab-eum`: somebody who makes eUICCs in software that this SM-DP+ takes for good ones. */
export function labEumRoute(parts: CertParts): Route {
  const { certs, context } = parts
  return route<unknown, unknown, LabEumBody>({
    method: 'POST',
    path: '/v1/esim/certs/lab-eum',
    role: 'admin',
    summary: 'Sign the certificate of a software eUICC maker',
    description:
      'A CERT.EUM under the own test CI, for eUICCs of a lab. Anyone with its key can make eUICCs that get profiles, ' +
      'and sees the keys in them. It is kept among the certificates; svc esim certs revoke ends it. Refused when there ' +
      'are certificates of another CI, because those are for phones of people.',
    schema: { body: BODY, response: RESPONSE, status: 201 },
    audit: 'esim_cert.lab_eum',
    errors: [esimCertConflict.code],
    handle: async (request) => {
      const keys = request.body.public_keys.map(publicKeyFrom)
      await makeLabCertificates(parts)
      const nowMs = context.clock.nowMs()
      const signed = keys.map((key) => labEum(key, certs.all(), nowMs))
      // They are kept, so that they can be taken back.
      const added = signed.flatMap(({ fresh }) => fresh ?? [])
      const reply = await request.mutate('lab-eum', async (tx) => {
        await keepCertificates(tx, parts, added)
        return { status: 201, body: { eums: signed.map(({ eum }) => eum) } }
      })
      await certs.reload()
      return reply
    },
  })
}

/** For a key that was signed for before it is that certificate, while it lasts. */
function labEum(
  key: KeyObject,
  held: readonly HeldCertificate[],
  nowMs: number,
): { readonly eum: object; readonly fresh: NewCertificate | undefined } {
  const curve = CURVE_NAMES[key.asymmetricKeyDetails?.namedCurve ?? '']
  if (curve === undefined) throw refusedKey()
  const ci = ownCi(curve, held)
  const ciPkid = ci.certificate.subjectKeyId ?? ''
  const before = held.find(
    (one) =>
      one.row.role === 'eum' &&
      one.row.ci_pkid === ciPkid &&
      fits(key, one.certificate) &&
      isValidAt(one, nowMs),
  )
  const certificate = before?.certificate ?? newEum(ci, key, nowMs)
  const base64 = (der: Uint8Array): string => Buffer.from(der).toString('base64')
  return {
    eum: { curve, iin: LAB_IIN, ci: base64(ci.certificate.raw), eum: base64(certificate.raw) },
    fresh: before === undefined ? { role: 'eum', certificate, ciPkid, key: undefined } : undefined,
  }
}

function newEum(ci: Issued, key: KeyObject, nowMs: number): Certificate {
  const notBeforeMs = nowMs - (nowMs % 1_000) - EARLIER_MS
  const { certificate } = issueEum(ci, {
    key,
    notBeforeMs,
    notAfterMs: Math.min(notBeforeMs + YEARS_MS, ci.certificate.notAfterMs),
    subject: { country: 'ZZ', organization: 'Steeple lab', commonName: 'Lab EUM' },
    registeredId: EUM_ID,
    iins: [LAB_IIN],
  })
  return certificate
}

/** The newest CI of that curve, which has to be the box's own, as have all the others. */
function ownCi(curve: RspCurve, held: readonly HeldCertificate[]): Issued {
  const authorities = held.filter(({ row }) => row.role === 'ci').toSorted(newestFirst)
  if (authorities.some(({ row, key }) => authorityOf(row.ci_pkid, key !== undefined) !== 'own'))
    throw esimCertConflict(
      "there are certificates of a CI that is not this box's own; eUICCs of a lab have no place beside them",
    )
  const own = authorities.find(({ row }) => row.curve === curve)
  if (own?.key === undefined)
    throw esimCertConflict(`there is no own CI on ${curve}; svc esim certs init makes one`)
  return { certificate: own.certificate, key: own.key }
}

function publicKeyFrom(text: string): KeyObject {
  try {
    return createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
  } catch (cause) {
    throw refusedKey({ cause })
  }
}

function refusedKey(options: ErrorOptions = {}): Error {
  return validationFailed('a public key has to be a SubjectPublicKeyInfo on P-256 or brainpoolP256r1', {
    ...options,
    details: [{ pointer: '/public_keys', message: 'has to hold points of P-256 or brainpoolP256r1' }],
  })
}
