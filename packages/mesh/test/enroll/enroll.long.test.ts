import { createPrivateKey, X509Certificate } from 'node:crypto'
import { nodeCertificatesRef } from '@steeple/contracts'
import { assert, bodyOf, codeOf, suite } from '@steeple/testkit'
import { csrOf, type RequestWish } from '../support/requests.ts'
import { type Enrolled, type RootBed, rootBed } from '../support/root-bed.ts'

const DAY_MS = 86_400_000
const enroll = suite('mesh/enroll')
let root: RootBed
enroll.before(async () => {
  root = await rootBed({ subnet: '100.64.0.0/16', name: 'valley' })
})
enroll.after(() => root.close())

function serialOf(pem: string): string {
  return new X509Certificate(pem).serialNumber.toLowerCase().replace(/^0+(?=.)/, '')
}

enroll('gives a node a certificate of 30 days, and an address that is its own', async () => {
  const box = await root.box()
  const got = bodyOf<Enrolled>(await root.enroll(box, root.token(), { body: { name: 'mast' } }))
  const certificate = new X509Certificate(got.certificate_pem)
  const ca = new X509Certificate(got.ca_pem)
  assert.ok(certificate.verify(ca.publicKey))
  assert.ok(certificate.checkPrivateKey(createPrivateKey(box.keyPem)))
  assert.ok(certificate.subjectAltName?.includes(`URI:svc://node/${box.id}`))
  assert.is(certificate.ca, false)
  assert.is(Date.parse(got.expires_at), root.clock.nowMs() + 30 * DAY_MS)
  assert.match(got.overlay_address, /^100\.64\.\d+\.\d+$/)
  const nodes = bodyOf<{ readonly nodes: readonly { readonly node_id: string; readonly name: string }[] }>(
    await root.bed.request('GET', '/v1/nodes'),
  ).nodes
  assert.is(nodes.find(({ node_id }) => node_id === box.id)?.name, 'mast')
  const status = bodyOf<{ readonly enrolled: boolean }>(
    await root.bed.request('GET', `/v1/nodes/${box.id}/enroll`),
  )
  assert.is(status.enrolled, true)
  const entry = (await root.bed.audit()).find(({ action }) => action === 'node.enroll')
  assert.equal([entry?.target, entry?.outcome, entry?.principal.kind], [box.id, 'ok', 'token'])
  const other = await root.box()
  const next = bodyOf<Enrolled>(await root.enroll(other, root.token()))
  assert.is.not(next.overlay_address, got.overlay_address)
})

enroll('passes over what a request says of its subject, and of the names that are its own', async () => {
  const box = await root.box()
  const names = [`svc://node/${box.id}`, 'MAST.local', '127.0.0.1']
  const csr = csrOf(box.keyPem, { commonName: 'svc://node/root', names })
  const got = bodyOf<Enrolled>(await root.enroll({ ...box, csr }, root.token(), { body: { name: 'mast' } }))
  assert.is(new X509Certificate(got.certificate_pem).subject, `CN=${box.id}`)
})

enroll('refuses and audits who asks to be a CA or somebody else, and leaves the token good', async () => {
  const box = await root.box()
  const token = root.token()
  const other = `svc://node/${(await root.box()).id}`
  const wishes: readonly (readonly [RequestWish, RegExp])[] = [
    [{ isCa: true }, /basicConstraints CA:TRUE/],
    [{ isCa: true, isMicrosoft: true }, /basicConstraints CA:TRUE/],
    [{ signsOthers: true }, /keyCertSign/],
    [{ names: [other] }, /subjectAltName url "svc:/],
    [{ names: ['svc://cli/admin'] }, /subjectAltName url "svc:/],
    [{ names: ['localhost', 'bank.example'] }, /subjectAltName dns "bank.example"/],
    [{ names: ['192.0.2.1'] }, /subjectAltName ip "192.0.2.1"/],
  ]
  for (const [wish, words] of wishes) {
    await root.clock.advance(60_000)
    const refused = await root.enroll({ ...box, csr: csrOf(box.keyPem, wish) }, token)
    assert.is(codeOf(refused), 'validation_failed', JSON.stringify(wish))
    assert.match(JSON.stringify(refused.body).replaceAll('\\\\"', '"').replaceAll('\\"', '"'), words)
    const entry = (await root.bed.audit()).find(({ action }) => action === 'node.enroll')
    assert.equal(
      [entry?.target, entry?.outcome, entry?.detail.error],
      [box.id, 'failed', 'validation_failed'],
    )
    assert.match(String(entry?.detail.reason), words)
  }
  bodyOf(await root.enroll(box, token))
})

enroll('audits what the edge refuses before the request is read: too large, of another form', async () => {
  const box = await root.box()
  const token = root.token()
  const last = async () => (await root.bed.audit()).find(({ action }) => action === 'node.enroll')
  const refused: readonly (readonly [object, string])[] = [
    [{ padding: 'x'.repeat(70_000) }, 'body_too_large'],
    [{ csr_pem: 7 }, 'validation_failed'],
    [{ subject: 'root' }, 'validation_failed'],
  ]
  for (const [body, code] of refused) {
    await root.clock.advance(60_000)
    assert.is(codeOf(await root.enroll(box, token, { body })), code)
    const entry = await last()
    assert.equal([entry?.target, entry?.outcome, entry?.detail.error], [box.id, 'failed', code])
  }
  bodyOf(await root.enroll(box, token))
})

enroll('names a box by mDNS as long as nobody else is called so, and by no other host name', async () => {
  const namesOf = (answer: Enrolled): readonly string[] =>
    [...(new X509Certificate(answer.certificate_pem).subjectAltName ?? '').matchAll(/DNS:([^,]+)/g)].map(
      ([, name = '']) => name,
    )
  const join = async (name: string) => {
    const box = await root.box()
    const body = { name, address: 'bank.example:8443' }
    return [box, bodyOf<Enrolled>(await root.enroll(box, root.token(), { body }))] as const
  }
  const [first, got] = await join('Mast am Hügel')
  assert.equal(namesOf(got), ['localhost', 'mast-am-hugel.local'])
  assert.equal(namesOf((await join('mast-am_Hugel'))[1]), ['localhost'])
  assert.equal(namesOf((await join(root.bed.identity.name))[1]), ['localhost'])
  assert.equal(namesOf((await join('Localhost'))[1]), ['localhost'])
  const atOnce = await Promise.all(['twin', 'twin', 'twin'].map(join))
  assert.is(atOnce.filter(([, answer]) => namesOf(answer).includes('twin.local')).length, 1)
  await root.later(16 * DAY_MS)
  const renewed = bodyOf<Enrolled>(
    await root.as(first, 'POST', `/v1/nodes/${first.id}/enroll`, { csr_pem: first.csr, name: 'another' }),
  )
  assert.is.not(renewed.certificate_pem, got.certificate_pem)
  assert.equal(namesOf(renewed), ['localhost', 'mast-am-hugel.local'])
})

enroll('gives the same again to the node that lost the answer, and to nobody else', async () => {
  const [box, other] = [await root.box(), await root.box()]
  const token = root.token()
  const headers = { 'idempotency-key': 'one' }
  const first = bodyOf<Enrolled>(await root.enroll(box, token, { headers }))
  assert.equal(bodyOf(await root.enroll(box, token, { headers })), first)
  assert.equal(bodyOf(await root.enroll(box, token)), first, 'without the key of the request, too')
  assert.is(codeOf(await root.enroll(other, token)), 'bootstrap_token_invalid')
  const otherKey = await root.enroll({ ...box, csr: other.csr }, token)
  assert.is(codeOf(otherKey), 'node_state_conflict')
  const members = bodyOf<{ readonly members: readonly { readonly node_id: string }[] }>(
    await root.bed.request('GET', '/v1/mesh/members'),
  ).members
  assert.is(members.filter(({ node_id }) => node_id === box.id).length, 1)
})

enroll('knows a node that comes back by its key, and gives it its old address', async () => {
  const [box, thief] = [await root.box(), await root.box()]
  const first = bodyOf<Enrolled>(await root.enroll(box, root.token()))
  bodyOf(await root.bed.request('POST', `/v1/nodes/${box.id}/leave`, { body: {} }))
  assert.is(codeOf(await root.enroll({ ...box, csr: thief.csr }, root.token())), 'node_state_conflict')
  const between = bodyOf<Enrolled>(await root.enroll(await root.box(), root.token()))
  const back = bodyOf<Enrolled>(await root.enroll(box, root.token()))
  assert.is(back.overlay_address, first.overlay_address)
  assert.is.not(between.overlay_address, first.overlay_address)
  assert.is.not(back.certificate_pem, first.certificate_pem)
})

enroll('lets two with one token in once, whoever is first', async () => {
  const [one, two] = [await root.box(), await root.box()]
  const token = root.token()
  const answers = await Promise.all([
    root.enroll(one, token),
    root.enroll(two, token),
    root.enroll(one, token),
  ])
  const winners = new Set(
    answers.filter(({ status }) => status === 200).map(({ body }) => (body as Enrolled).node_id),
  )
  assert.is(winners.size, 1)
  for (const answer of answers.filter(({ status }) => status !== 200))
    assert.is(codeOf(answer), 'bootstrap_token_invalid')
})

enroll('never gives two nodes one address, however many come at once', async () => {
  const boxes = await Promise.all(Array.from({ length: 12 }, () => root.box()))
  const got = await Promise.all(
    boxes.map(async (box) => bodyOf<Enrolled>(await root.enroll(box, root.token()))),
  )
  assert.is(new Set(got.map(({ overlay_address }) => overlay_address)).size, boxes.length)
})

enroll('refuses itself, and ids that are none', async () => {
  const box = await root.box()
  const own = { ...box, id: root.bed.identity.nodeId }
  assert.is(codeOf(await root.enroll(own, root.token())), 'node_state_conflict')
  assert.is((await root.enroll({ ...box, id: 'box' }, root.token())).status, 400)
})

enroll('renews by the certificate of the node once half of its life is over', async () => {
  const [box, other] = [await root.box(), await root.box()]
  const first = bodyOf<Enrolled>(await root.enroll(box, root.token()))
  const path = `/v1/nodes/${box.id}/enroll`
  const body = { csr_pem: box.csr, name: 'box' }
  assert.equal(
    bodyOf<Enrolled>(await root.as(box, 'POST', path, body)).certificate_pem,
    first.certificate_pem,
  )
  assert.is((await root.as(other, 'POST', path, body)).status, 403, 'nobody renews for another')
  assert.is(codeOf(await root.as(box, 'POST', path, { ...body, csr_pem: other.csr })), 'node_state_conflict')
  await root.later(16 * DAY_MS)
  const renewed = bodyOf<Enrolled>(await root.as(box, 'POST', path, body))
  assert.is.not(renewed.certificate_pem, first.certificate_pem)
  assert.is(renewed.overlay_address, first.overlay_address)
  assert.is(Date.parse(renewed.expires_at), root.clock.nowMs() + 30 * DAY_MS)
})

enroll('says whom a certificate stands for until it is revoked', async () => {
  const holders = root.bed.service(nodeCertificatesRef)
  const box = await root.box()
  const got = bodyOf<Enrolled>(await root.enroll(box, root.token(), { body: { name: 'mast two' } }))
  const certificate = {
    serial: serialOf(got.certificate_pem),
    name: box.id,
    caSha256: root.bed.identity.caSha256,
    notAfterMs: Date.parse(got.expires_at),
  }
  const holder = await holders?.holderOf(certificate)
  assert.equal([holder?.kind, holder?.id, holder?.name], ['node', box.id, 'mast two'])
  assert.is(await holders?.holderOf({ ...certificate, serial: 'ab' }), undefined, 'never issued')
  assert.is(await holders?.holderOf({ ...certificate, name: (await root.box()).id }), undefined)
  assert.is(await holders?.holderOf({ ...certificate, caSha256: '0'.repeat(64) }), undefined)
  bodyOf(await root.as(box, 'POST', `/v1/nodes/${box.id}/leave`, {}))
  let code = ''
  await holders?.holderOf(certificate).catch((error: { readonly code: string }) => {
    code = error.code
  })
  assert.is(code, 'certificate_revoked')
})

enroll.run()
