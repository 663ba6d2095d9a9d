import { generateKeyPairSync, type KeyObject, randomInt } from 'node:crypto'
import { issueEuicc, readCertificate } from '@steeple/sgp22'
import { createEuicc, type Download, downloadProfile, type Euicc } from '@steeple/virtual-euicc'
import type { Answer, Service } from './service.ts'

/** Who makes eUICCs that the box believes: as `POST /v1/esim/certs/lab-eum` signs for it. */
export interface LabEum {
  readonly curve: 'P-256' | 'brainpoolP256r1'
  readonly iin: string
  readonly ci: string
  readonly eum: string
  readonly key: KeyObject
}

/** Settings of a service under test with eSIM. */
export const ESIM_ENV: Readonly<Record<string, string>> = {
  SVC_ESIM_ENABLED: 'true',
  SVC_ESIM_SMDP_ADDRESS: 'smdp.example.org',
  SVC_HSS_DRIVER: 'none',
}

/** Gives a service its certificates, and makers of eUICCs under them. */
export async function prepareEsim(service: Service): Promise<readonly LabEum[]> {
  expect(await service.request('POST', '/v1/esim/certs/init', { body: {} }), 201)
  const pairs = ['prime256v1', 'brainpoolP256r1'].map((namedCurve) =>
    generateKeyPairSync('ec', { namedCurve }),
  )
  const public_keys = pairs.map(({ publicKey }) =>
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  )
  const { eums } = expect(
    await service.request('POST', '/v1/esim/certs/lab-eum', { body: { public_keys } }),
    201,
  )
  return eums.map((eum: Omit<LabEum, 'key'>, i: number) => ({ ...eum, key: pairs[i]?.privateKey }))
}

/** A new eUICC with a chain under each of those makers. */
export function newEuicc(eums: readonly LabEum[]): Euicc {
  const [first] = eums
  if (first === undefined) throw new Error('there is nobody who makes eUICCs')
  let eid = first.iin
  while (eid.length < 30) eid += randomInt(10)
  eid += String(98 - Number((BigInt(eid) * 100n) % 97n)).padStart(2, '0')
  const chains = eums.map(({ curve, ci, eum, key }) => {
    const certificate = readCertificate(Buffer.from(eum, 'base64'))
    const maker = { certificate, key }
    const { country, organization = '' } = certificate.subject
    const issued = issueEuicc(maker, {
      notBeforeMs: certificate.notBeforeMs,
      notAfterMs: certificate.notAfterMs,
      subject: {
        ...(country === undefined ? {} : { country }),
        organization,
        serialNumber: eid,
        commonName: 'Test eUICC',
      },
    })
    return {
      curve,
      ciDer: Uint8Array.from(Buffer.from(ci, 'base64')),
      eumDer: certificate.raw,
      euiccDer: issued.certificate.raw,
      euiccKey: issued.key,
    }
  })
  return createEuicc({ eid, chains })
}

/** Downloads by an activation code, over the plain path of loopback. */
export async function download(
  service: Service,
  euicc: Euicc,
  activationCode: string,
  confirmationCode?: string,
): Promise<Download> {
  return await downloadProfile({
    euicc,
    activationCode,
    baseUrl: service.url,
    ...(confirmationCode === undefined ? {} : { confirmationCode }),
  })
}

/** The body of an answer with that status. Throws for another one. */
export function expect({ status, body }: Answer, wanted: number): Answer['body'] {
  if (status !== wanted) throw new Error(`${status} instead of ${wanted}: ${JSON.stringify(body)}`)
  return body
}

/** EF.ICCID of digits: each octet's halves swapped, filled with F. TS 102 221 §13.2. */
export function iccidOctets(digits: string): Uint8Array {
  const pairs = digits.padEnd(20, 'F').match(/../g) ?? []
  return Uint8Array.from(pairs, ([low = 'F', high = 'F']) => Number.parseInt(`${high}${low}`, 16))
}
