import { createPublicKey } from 'node:crypto'
import { request } from 'node:https'
import { issueEuicc, newKey, type RspCurve, readCertificate } from '@steeple/sgp22'
import { assert, bodyOf, suite, type Testbed, unusedPort } from '@steeple/testkit'
import { createEuicc, downloadProfile, type Es9Transport, type EuiccChain } from '@steeple/virtual-euicc'
import { code, issue, startBed } from './support/bed.ts'

/** Of a lab: `lab-eum` gives out this beginning. */
const EIDS = { 'P-256': '89999999'.padEnd(32, '7'), brainpoolP256r1: '89999999'.padEnd(32, '8') }
const phones = suite('esim-smdp/phone-tls')

/** A phone's HTTP over TLS: believes one CI, goes to the loopback whatever the name, and keeps its connection. */
function tlsTransport(ca: string, port: number): Es9Transport {
  return (url, headers, body) =>
    new Promise((resolve, reject) => {
      const { hostname, pathname } = new URL(url)
      const sent = request(
        { host: '127.0.0.1', port, servername: hostname, path: pathname, method: 'POST', headers, ca },
        (incoming) => {
          const parts: Buffer[] = []
          incoming.on('data', (part: Buffer) => parts.push(part))
          incoming.on('end', () =>
            resolve({
              status: incoming.statusCode ?? 0,
              contentType: incoming.headers['content-type'],
              body: Buffer.concat(parts).toString('utf8'),
            }),
          )
        },
      )
      sent.once('error', reject)
      sent.end(body)
    })
}

/** An eUICC of an EUM that the server has signed for, as `lab-eum` does. */
async function chainOf(bed: Testbed, curve: RspCurve): Promise<EuiccChain> {
  const key = newKey(curve)
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64')
  const body = { public_keys: [spki] }
  const answer = await bed.request('POST', '/v1/esim/certs/lab-eum', { body })
  const [signed] = bodyOf<{ eums: readonly { iin: string; ci: string; eum: string }[] }>(answer, 201).eums
  if (signed === undefined) throw new Error('no EUM was signed')
  const eum = readCertificate(Buffer.from(signed.eum, 'base64'))
  const { notBeforeMs, notAfterMs } = eum
  const subject = { organization: eum.subject.organization ?? '', serialNumber: EIDS[curve] }
  const euicc = issueEuicc({ certificate: eum, key }, { notBeforeMs, notAfterMs, subject })
  return {
    curve,
    ciDer: Buffer.from(signed.ci, 'base64'),
    eumDer: eum.raw,
    euiccDer: euicc.certificate.raw,
    euiccKey: euicc.key,
  }
}

async function ciPem(bed: Testbed, curve: RspCurve): Promise<string> {
  const { certs } = bodyOf<{ certs: readonly { id: string; role: string; curve: string }[] }>(
    await bed.request('GET', '/v1/esim/certs'),
  )
  const ci = certs.find((cert) => cert.role === 'ci' && cert.curve === curve)
  return bodyOf<{ pem: string }>(await bed.request('GET', `/v1/esim/certs/${ci?.id}`)).pem
}

phones('downloads over TLS from a box that was only given a name, on both curves', async () => {
  const port = await unusedPort()
  await using bed = await startBed({ smdp_address: 'smdp.example.org', listen: `127.0.0.1:${port}` }, {}, {})
  // The listener is open before there is a certificate, and takes it without a restart.
  const made = await bed.request('POST', '/v1/esim/certs/init', { body: {} })
  assert.is(made.status, 201, JSON.stringify(made.body))
  const transport = tlsTransport(await ciPem(bed, 'P-256'), port)
  for (const curve of ['P-256', 'brainpoolP256r1'] as const) {
    const issued = await issue(bed, { label: curve })
    const euicc = createEuicc({ eid: EIDS[curve], chains: [await chainOf(bed, curve)] })
    const got = await downloadProfile({ euicc, activationCode: issued.activation_code, transport })
    assert.match(got.profile.imsi, /^99999/)
    assert.is((await code(bed, issued.token)).state, 'installed')
  }
})

phones('does not talk to a phone that believes another CI, nor serve anything but ES9+', async () => {
  const port = await unusedPort()
  await using bed = await startBed({ smdp_address: 'smdp.example.org', listen: `127.0.0.1:${port}` }, {}, {})
  await bed.request('POST', '/v1/esim/certs/init', { body: {} })
  const believing = tlsTransport(await ciPem(bed, 'brainpoolP256r1'), port)
  const refused = await believing(
    'https://smdp.example.org/gsma/rsp2/es9plus/initiateAuthentication',
    {},
    '{}',
  ).then(
    () => 'it talked',
    (error: Error) => error.message,
  )
  assert.match(refused, /certificate/)
  const good = tlsTransport(await ciPem(bed, 'P-256'), port)
  assert.is((await good('https://smdp.example.org/v1/esim/certs', {}, '{}')).status, 404)
  const answer = await good('https://smdp.example.org/gsma/rsp2/es9plus/initiateAuthentication', {}, '{}')
  assert.is(answer.status, 200)
  assert.match(answer.body, /"Failed"/)
})

phones('does not listen while eSIM is off', async () => {
  const port = await unusedPort()
  await using bed = await startBed({ enabled: false, listen: `127.0.0.1:${port}` }, {}, {})
  await bed.request('POST', '/v1/esim/certs/init', { body: {} })
  const transport = tlsTransport(await ciPem(bed, 'P-256'), port)
  const refused = await transport('https://smdp.example.org/gsma/rsp2/es9plus/cancelSession', {}, '{}').then(
    () => 'it listens',
    (error: NodeJS.ErrnoException) => error.code,
  )
  assert.is(refused, 'ECONNREFUSED')
})

phones.run()
