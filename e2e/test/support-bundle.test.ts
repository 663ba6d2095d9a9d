import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { assert, eventually, suite } from '@steeple/testkit'
import { LACKS } from '../harness/builds/program.ts'
import { base64Key, found, keyNeedles, type Needle, textNeedle } from '../harness/canary/needles.ts'
import { drawTexts } from '../harness/canary/secret-texts.ts'
import { ESIM_ENV, prepareEsim } from '../harness/esim.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/*
 * Secrets of every kind where they belong, and people where they have names: none of them is in a bundle, taken from the
 * service or beside it. The canary looks for the misplaced ones too.
 */

const test = suite('e2e/support-bundle')
const LIMIT = { limitMs: 180_000 }
const TEXTS = drawTexts()

const needles: Needle[] = []
let dir: string

/** A text that must not come out. */
function secret(name: string): string {
  const text = `zq7${randomBytes(12).toString('hex')}`
  needles.push(textNeedle(name, text))
  return text
}

/** A file with a secret in it, whose own name is somebody's. */
function secretFile(name: string, text: string, mode = 0o600): string {
  const path = join(dir, `${secret(`the name of the file of ${name}`)}.txt`)
  writeFileSync(path, `${text}\n`, { mode })
  return path
}

/** The configuration, with something secret wherever it can be. */
function configFile(storeUrl: string): string {
  const signing = randomBytes(32).toString('base64')
  needles.push(...base64Key('the secret of a webhook', signing))
  const path = join(dir, 'control.yaml')
  const lines = [
    `store:\n  url: ${storeUrl}`,
    `telemetry:\n  otlp_url: "http://127.0.0.1:1/${secret('the path of a URL')}?key=${secret('the query of a URL')}"`,
    `  otlp_authorization: ${secretFile('the collector', `Bearer ${secret('the token of the collector')}`)}`,
    `hss:\n  driver: none\n  mongo_url: "mongodb://svc:${secret('the password of the HSS')}@127.0.0.1/open5gs"`,
    `backup:\n  directory: ${join(dir, secret('a folder'))}`,
    `  passphrase: ${secretFile('backups', secret('the passphrase of backups'))}`,
    `alerts:\n  webhooks:\n    - name: ${secret('the name of a webhook')}`,
    `      url: "https://127.0.0.1:1/services/${secret('the path of a webhook')}?t=${secret('its query')}"`,
    `      secret_file: ${secretFile('a webhook', `whsec_${signing}`)}\n      allow_private: true`,
    // What its health says of it names the file.
    `    - name: ${secret('the name of another webhook')}\n      url: https://127.0.0.1:1/`,
    `      secret_file: ${secretFile('another webhook', 'none', 0o644)}\n      allow_private: true`,
    `core_a:\n  containers:\n    mme: ${secret('the name of a container')}`,
    `peering:\n  enabled: false`,
  ]
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  return path
}

test.before(() => {
  dir = mkdtempSync(join(tmpdir(), 'steeple-support-'))
})
test.after(() => rmSync(dir, { recursive: true, force: true }))

test(
  'a bundle of the service has no secret and nobody in it',
  async () => {
    const config = configFile('""')
    const flags = ['--config', config, '--log-level', 'debug']
    await using service = await startService({ flags, env: ESIM_ENV })
    await live(service)
    const headers = { authorization: `Bearer ${service.adminToken}` }
    if (!LACKS.has('alerts'))
      await eventually(async () => {
        const { body } = await service.request('GET', '/v1/health')
        assert.match(JSON.stringify(body), /can be read by others/)
      })
    const response = await fetch(`${service.url}/v1/support/bundle`, { headers })
    assert.is(response.status, 200)
    const archive = gunzipSync(await response.bytes())
    needles.push(...keyNeedles(join(service.dataDir, 'keys')))
    assert.equal(found(needles, archive), [])
    assert.ok(archive.includes('"failed": {}'), 'all of it could be made')
    // The bundle does tell something.
    if (!LACKS.has('driver-hss')) assert.ok(archive.includes('"hss.mongo_url": "[replaced]"'))
    if (!LACKS.has('alerts')) {
      assert.ok(archive.includes('"url": "https://127.0.0.1:1/[replaced]"'))
      assert.ok(archive.includes('can be read by others'))
    }
    assert.ok(archive.includes('"msg":"request"'))
    assert.ok(archive.includes('svc_http_requests_total{'))
  },
  LIMIT,
)

test(
  'one that is made beside it has none either',
  async () => {
    const config = configFile(`postgres://svc:${secret('the password of the database')}@127.0.0.1:1/svc`)
    const path = join(dir, 'offline.tar.gz')
    const { code, stdout, stderr } = await runSvc(
      ['support', 'bundle', '--offline', '--config', config, '--data-dir', join(dir, 'nothing'), '-o', path],
      { SVC_ADMIN_TOKEN: secret('the admin token of the environment') },
    )
    assert.is(code, 0, stderr)
    const archive = gunzipSync(readFileSync(path))
    assert.equal(found(needles, Buffer.concat([archive, Buffer.from(stdout + stderr)])), [])
    for (const name of ['config.json', 'doctor.json', 'plugins.json', 'versions.json'])
      assert.ok(archive.includes(`svc-support/${name}`), name)
    assert.match(archive.toString('latin1'), /"store.url": "postgres:\/\/127\.0\.0\.1:1\//)
  },
  LIMIT,
)

/** A service that people use: cards, labels, names, tokens, failures. */
async function live(service: Service): Promise<void> {
  const { ki, opc, imsi, password } = TEXTS
  for (const [name, text] of Object.entries({ ki, opc, imsi, password })) needles.push(textNeedle(name, text))
  needles.push(textNeedle('the admin token', service.adminToken))
  const label = secret('the label of a SIM')
  const sims = [{ imsi, ki, opc, label, msisdn: '31612345678' }]
  needles.push(textNeedle('an MSISDN', '31612345678'))
  const imported = await service.request('POST', '/v1/sims/import', { body: { sims } })
  assert.is(imported.body.imported, 1, JSON.stringify(imported.body))
  const [{ imsi_sha256_12: hash }] = imported.body.results
  needles.push(textNeedle('the hash of an IMSI', hash))
  await service.request('GET', `/v1/sims/${hash}`)
  const made = await service.request('POST', '/v1/tokens', {
    body: { name: secret('the name of a token'), roles: ['viewer'] },
  })
  needles.push(textNeedle('a token', made.body.token))
  await service.request('GET', '/v1/sims', { token: made.body.token })
  await service.request('GET', '/v1/sims', { token: `svc_${secret('a wrong token')}` })
  const username = `${secret('an address of e-mail')}@example.org`
  await service.request('POST', '/v1/users', { body: { username, password, roles: ['viewer'] } })
  await service.request('POST', '/v1/auth/login', { body: { username, password, code: '000000' } })
  if (!LACKS.has('mesh')) await mesh(service)
  if (!LACKS.has('esim-smdp')) await esim(service)
  await service.request('GET', '/v1/status', { headers: { 'x-request-id': secret('the id of a request') } })
}

/** A peer with a preshared key, that is refused once more with it where it does not belong. */
async function mesh(service: Service): Promise<void> {
  const preshared_key = randomBytes(32).toString('base64')
  needles.push(...base64Key('the preshared key of a peer', preshared_key))
  const name = secret('the name of a peer')
  const peer = {
    name,
    endpoint: 'wg://192.0.2.1:51820',
    public_key: randomBytes(32).toString('base64'),
    routes: [],
  }
  const made = await service.request('POST', '/v1/peers', { body: { ...peer, preshared_key } })
  assert.is(made.status, 201, JSON.stringify(made.body))
  await service.request('POST', '/v1/peers', { body: { ...peer, name: preshared_key, preshared_key } })
  await service.request('GET', `/v1/peers/${encodeURIComponent(preshared_key)}`)
}

/** An activation code, and its matching id where it does not belong. */
async function esim(service: Service): Promise<void> {
  await prepareEsim(service)
  const label = secret('the label of an eSIM')
  const issued = await service.request('POST', '/v1/esim/issue', { body: { label } })
  assert.is(issued.status, 201, JSON.stringify(issued.body))
  const code = String(issued.body.activation_code)
  const matchingId = code.split('$')[2] ?? ''
  assert.ok(matchingId.length > 10)
  needles.push(textNeedle('an activation code', code), textNeedle('a matching id', matchingId))
  for (const text of [code, matchingId])
    await service.request('GET', `/v1/esim/codes/${encodeURIComponent(text)}`)
}

test.run()
