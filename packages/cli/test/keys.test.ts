import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import tls from 'node:tls'
import { certificateRequest, initNode, openNodeCa } from '@steeple/secrets'
import { assert, fakeClock, listen, suite, tempDir } from '@steeple/testkit'
import { pkcs12 } from '../src/keys/make-certificate.ts'

const keys = suite('cli/keys')
const PASSPHRASE = 'correct horse battery staple'

/** A key made here, and its certificate by the CA of a box. */
async function issued(name: string) {
  await using folder = await tempDir()
  const clock = fakeClock(Date.now())
  const { secrets } = await initNode({ dataDir: folder.path, clock, name: 'box' })
  const authority = openNodeCa(secrets, clock)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyPem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const publicKey = await authority.readRequest(await certificateRequest(keyPem, name), [])
  const notAfterMs = clock.nowMs() + 86_400_000
  const { pem } = await authority.issue({ publicKey, commonName: name, uri: `svc://cli/${name}`, notAfterMs })
  return { privateKey, certificate: pem, ca: authority.caPem, server: secrets.tls() }
}

keys('makes requests that the CA of a box takes', async () => {
  const { privateKey, certificate, ca } = await issued('zoe')
  const shown = new X509Certificate(certificate)
  assert.ok(shown.checkPrivateKey(privateKey))
  assert.ok(shown.verify(new X509Certificate(ca).publicKey))
})

keys('makes archives that open with their passphrase alone, whatever the name', async () => {
  const { privateKey, certificate, ca } = await issued('zoe')
  for (const name of ['zoe (svc)', 'Zoë 😀', 'x'.repeat(200)]) {
    const archive = pkcs12({ privateKey, certificate, ca, name }, PASSPHRASE)
    tls.createSecureContext({ pfx: archive, passphrase: PASSPHRASE })
    assert.throws(() => tls.createSecureContext({ pfx: archive, passphrase: 'wrong' }), /mac verify/)
    const changed = Buffer.from(archive)
    changed[200] = (changed[200] ?? 0) ^ 1
    assert.throws(() => tls.createSecureContext({ pfx: changed, passphrase: PASSPHRASE }))
    assert.not.ok(archive.includes(privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(30)))
  }
})

keys('makes archives with which a client proves who it is', async () => {
  const { privateKey, certificate, ca, server: own } = await issued('zoe')
  const server = tls.createServer({ key: own.key, cert: own.cert, ca, requestCert: true }, (socket) => {
    socket.end(socket.getPeerX509Certificate()?.subjectAltName ?? 'nobody')
  })
  const { port, close } = await listen(server)
  const pfx = pkcs12({ privateKey, certificate, ca, name: 'zoe' }, PASSPHRASE)
  const client = tls.connect({ port, host: '127.0.0.1', ca, pfx, passphrase: PASSPHRASE })
  const [said] = (await once(client, 'data')) as [Buffer]
  assert.is(said.toString(), 'URI:svc://cli/zoe')
  client.destroy()
  await close()
})

keys.run()
