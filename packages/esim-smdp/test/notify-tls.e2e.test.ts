import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, bodyOf, suite, unusedPort } from '@steeple/testkit'
import { pemOf } from '../src/certs/held.ts'
import { subjectOf } from '../src/providers/provider.ts'
import { errorOf } from './support/bed.ts'
import { type ClientKeys, clientUnder, type Es2Bed, HOST, newCa, startEs2 } from './support/es2-bed.ts'
import { pki } from './support/pki.ts'
import { type Ended, run } from './support/programs.ts'

/** What a provider tells with its client certificate. */
const tls = suite('esim-smdp/notify-tls')
let all: Es2Bed
let port: number

tls.before(
  async () => {
    port = await unusedPort()
    all = await startEs2({}, pki('P-256'), (client_ca) => ({
      notifications: { listen: `127.0.0.1:${port}`, client_ca },
    }))
    writeFileSync(join(all.dir.path, 'ci.pem'), pemOf(all.pki.ci.certificate.raw))
  },
  { limitMs: 360_000 },
)
tls.after(() => all.stop())

interface Code {
  readonly state: string
}

async function curl(name: string, client: ClientKeys | undefined, body: object, more = ''): Promise<Ended> {
  const [cert, key] = [join(all.dir.path, `${name}.pem`), join(all.dir.path, `${name}.key`)]
  if (client !== undefined) {
    writeFileSync(cert, client.cert)
    writeFileSync(key, client.key, { mode: 0o600 })
  }
  const own = client === undefined ? [] : ['--cert', cert, '--key', key]
  return await run('curl', [
    ...['-sS', '-i', '--resolve', `${HOST}:${port}:127.0.0.1`, '--cacert', join(all.dir.path, 'ci.pem')],
    ...[...own, '-d', JSON.stringify(body)],
    `https://${HOST}:${port}/gsma/rsp2/es2plus/handleDownloadProgressInfo${more}`,
  ])
}

const put = (id: string, body: object) => all.bed.request('PUT', `/v1/esim/providers/${id}`, { body })
const codeOf = async (hash: string): Promise<Code | undefined> =>
  bodyOf<{ readonly codes: readonly Code[] }>(await all.bed.request('GET', `/v1/esim/codes?imsi=${hash}`))
    .codes[0]

const told = (iccid: string, notificationPointId: number): object => ({
  header: { functionRequesterIdentifier: 'harbour', functionCallIdentifier: 'n-1' },
  ...{ iccid, profileType: 'std', timestamp: '2026-11-29T10:00:00Z', notificationPointId },
  notificationPointStatus: { status: 'Executed-Success' },
})

/** A SIM whose code has come back from that provider. */
async function delivered(provider: string, matching: string) {
  const sim = await all.sim()
  const answer = await all.bed.request('POST', `/v1/esim/providers/${provider}/codes`, {
    body: Buffer.from(`ICCID,Activation Code\n${sim.iccid},LPA:1$rsp.example$${matching}\n`),
    headers: { 'content-type': 'text/csv' },
  })
  assert.is(bodyOf<{ readonly imported: number }>(answer).imported, 1)
  return sim
}

tls('takes notifications of the provider whose certificate it is', async () => {
  const set = await put('harbour', { notify_subject: 'CN=es2.harbour, O=BSS' })
  const { takes_notifications, notify_subject } = bodyOf<Record<string, unknown>>(set)
  assert.equal([takes_notifications, notify_subject], [true, 'CN=es2.harbour, O=BSS'])
  const sim = await delivered('harbour', 'NOTIFY-TLS-A')
  const client = all.client('es2.harbour')
  const { code, out } = await curl('harbour', client, told(sim.iccid, 3))
  assert.is(code, 0, out)
  assert.match(out, /^HTTP\/1.1 204/)
  assert.is((await codeOf(sim.hash))?.state, 'downloaded')
  assert.match((await curl('harbour', client, told(sim.iccid, 4))).out, /^HTTP\/1.1 204/)
  assert.is((await codeOf(sim.hash))?.state, 'installed')
  assert.match((await curl('harbour', client, { iccid: 'x' })).out, /^HTTP\/1.1 400/)
  assert.match((await curl('harbour', client, told(sim.iccid, 3), '/other')).out, /^HTTP\/1.1 404/)
})

tls('takes none of anybody else', async () => {
  await put('harbour', { notify_subject: 'O=BSS, CN=es2.harbour' })
  await put('quay', { notify_subject: 'CN=es2.quay, O=BSS' })
  const sim = await delivered('harbour', 'NOTIFY-TLS-B')
  const before = await codeOf(sim.hash)
  const own = all.client('es2.harbour')
  const day = 86_400_000
  const ended = { notBeforeMs: Date.UTC(2020, 0, 1), notAfterMs: Date.now() - day }
  const refused = {
    nobody: undefined,
    foreign: clientUnder(newCa('Somebody'), 'es2.harbour'),
    expired: all.client('es2.harbour', all.clientCa, ended),
  }
  for (const [name, client] of Object.entries(refused)) {
    const { code, out } = await curl(name, client, told(sim.iccid, 3))
    assert.is.not(code, 0, `${name}: ${out}`)
    assert.not.match(out, /HTTP\/1/, name)
  }
  // Of the right authority, and no provider; and another provider, which has no such code.
  assert.match((await curl('stranger', all.client('stranger'), told(sim.iccid, 3))).out, /^HTTP\/1.1 403/)
  assert.match((await curl('quay', all.client('es2.quay'), told(sim.iccid, 3))).out, /^HTTP\/1.1 204/)
  assert.equal(await codeOf(sim.hash), before)
  // The subject is taken back, and so is what it opens.
  await put('harbour', { notify_subject: '' })
  assert.match((await curl('harbour', own, told(sim.iccid, 3))).out, /^HTTP\/1.1 403/)
  assert.equal(await codeOf(sim.hash), before)
})

tls('gives a subject to one provider alone', async () => {
  await put('harbour', { notify_subject: 'CN=es2.harbour, O=BSS' })
  const { message } = errorOf(await put('quay', { notify_subject: 'O=BSS,CN=es2.harbour' }), 400)
  assert.match(message, /is that of the provider harbour/)
  assert.is(subjectOf('C=DE\nO=Harbour, Ltd\nCN=es2'), subjectOf('CN=es2, O=Harbour, Ltd, C=DE'))
})

tls.run()
