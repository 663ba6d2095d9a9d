import { X509Certificate } from 'node:crypto'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { judgeCertificate, trustedCas } from '../src/tls/client-certificates.ts'
import { type Leaf, makeCa, NODE_ID, type TestCa } from './world/certificates.ts'

/** id-kp-serverAuth, RFC 5280 §4.2.1.12. */
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'

const judge = suite('api/judge-certificate')

let mesh: TestCa
let own: TestCa
let foreign: TestCa

judge.before(async () => {
  mesh = await makeCa('Mesh CA')
  own = await makeCa('Own CA')
  // The same name as the mesh's: a name is no proof.
  foreign = await makeCa('Mesh CA')
})

async function verdict(ca: TestCa, leaf: Leaf, handshake?: string): Promise<string> {
  const { cert } = await ca.issue(leaf)
  const judged = judgeCertificate(new X509Certificate(cert), handshake, trustedCas(mesh.pem, own.pem))
  return 'problem' in judged ? judged.problem : `${judged.kind} ${judged.certificate.name}`
}

const uri = (value: string): Leaf => ({ names: [{ type: 'url', value }] })

judge('takes a node of the mesh and an operator of this box', async () => {
  assert.is(await verdict(mesh, {}), `node ${NODE_ID}`)
  assert.is(await verdict(own, uri('svc://cli/anna')), 'cli anna')
})

judge('says serial, CA and end as the services are asked', async () => {
  const notAfterMs = Date.UTC(2040, 1, 2)
  const { cert } = await mesh.issue({ serial: '00ab0c', notAfterMs })
  const judged = judgeCertificate(new X509Certificate(cert), undefined, trustedCas(mesh.pem, own.pem))
  assert.ok(!('problem' in judged))
  assert.equal('problem' in judged ? undefined : judged.certificate, {
    serial: 'ab0c',
    name: NODE_ID,
    caSha256: mesh.sha256,
    notAfterMs,
  })
})

judge('takes both kinds from the one CA of a box that is alone', async () => {
  const both = trustedCas(own.pem, own.pem)
  for (const leaf of [{}, uri('svc://cli/anna')]) {
    const { cert } = await own.issue(leaf)
    assert.ok(!('problem' in judgeCertificate(new X509Certificate(cert), undefined, both)))
  }
})

judge('lets neither CA name holders of the other kind', async () => {
  assert.match(await verdict(own, {}), /may not name holders of svc:\/\/node/)
  assert.match(await verdict(mesh, uri('svc://cli/anna')), /may not name holders of svc:\/\/cli/)
})

judge('refuses what another CA of the same name has signed', async () => {
  assert.match(await verdict(foreign, {}), /not believed/)
})

judge('refuses what is not for clients', async () => {
  assert.match(await verdict(mesh, { usages: [SERVER_AUTH] }), /not for clients/)
  assert.match(await verdict(mesh, { usages: [] }), /not for clients/)
  // anyExtendedKeyUsage is no clientAuth.
  assert.match(await verdict(mesh, { usages: ['2.5.29.37.0'] }), /not for clients/)
})

judge('refuses a CA as a client', async () => {
  assert.match(await verdict(mesh, { isCa: true }), /certificate of a CA/)
})

judge('refuses no holder, several, and odd ones', async () => {
  const name = `svc://node/${NODE_ID}`
  const wrong: readonly Leaf[] = [
    { names: [] },
    { names: [{ type: 'dns', value: 'localhost' }] },
    {
      names: [
        { type: 'url', value: name },
        { type: 'url', value: 'svc://cli/anna' },
      ],
    },
    {
      names: [
        { type: 'url', value: name },
        { type: 'url', value: name },
      ],
    },
    {
      names: [
        { type: 'url', value: name },
        { type: 'url', value: 'SVC://cli/anna' },
      ],
    },
    uri('svc://node/'),
    uri('svc://node'),
    uri('svc://user/anna'),
    uri('svc://node/a/b'),
    uri('svc://node/a b'),
    uri('svc://cli/anna, URI:svc://cli/otto'),
    uri('https://node/x'),
    { names: [{ type: 'dns', value: `x, URI:svc://cli/anna` }] },
    { names: [{ type: 'dns', value: `x", URI:svc://cli/anna, DNS:"` }] },
    { names: [{ type: 'email', value: `x@y, URI:${name}` }] },
  ]
  for (const leaf of wrong) assert.match(await verdict(mesh, leaf), /names no holder, or several/)
})

judge('lets no text of another name make a holder, whatever it is made of', async () => {
  const pieces = fc.constantFrom(
    'URI:svc://cli/eve',
    ', ',
    ',',
    '"',
    '\\',
    'DNS:',
    'a',
    '\\"',
    '\n',
    '=',
    '/',
    ' ',
  )
  const text = fc.array(pieces, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))
  const name = fc.record({ type: fc.constantFrom('dns' as const, 'email' as const), value: text })
  await fc.assert(
    fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 3 }), async (others) => {
      assert.match(await verdict(own, { names: others }), /names no holder/)
      const holder = { type: 'url' as const, value: 'svc://cli/anna' }
      const said = await verdict(own, { names: [...others, holder] })
      assert.ok(said === 'cli anna' || /names no holder/.test(said), said)
    }),
    { numRuns: 40 },
  )
})

judge('takes names of other kinds beside the holder', async () => {
  const names: Leaf['names'] = [
    { type: 'dns', value: 'localhost' },
    { type: 'url', value: `svc://node/${NODE_ID}` },
    { type: 'ip', value: '127.0.0.1' },
    { type: 'url', value: 'https://example.org/a,b' },
  ]
  assert.is(await verdict(mesh, { names }), `node ${NODE_ID}`)
})

judge('leaves the times to the asker and all else to openssl', async () => {
  assert.is(await verdict(mesh, {}, 'CERT_HAS_EXPIRED'), `node ${NODE_ID}`)
  assert.is(await verdict(mesh, {}, 'CERT_NOT_YET_VALID'), `node ${NODE_ID}`)
  assert.match(await verdict(mesh, {}, 'UNHANDLED_CRITICAL_EXTENSION'), /UNHANDLED_CRITICAL_EXTENSION/)
})

judge.run()
