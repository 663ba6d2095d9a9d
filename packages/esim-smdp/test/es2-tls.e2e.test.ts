import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, unusedPort } from '@steeple/testkit'
import { pemOf } from '../src/certs/held.ts'
import { createEs2Service } from '../src/es2/service.ts'
import { type ClientKeys, clientUnder, type Es2Bed, HOST, newCa, startEs2 } from './support/es2-bed.ts'
import { type Ended, run } from './support/programs.ts'
import { CONFIG, world } from './support/world.ts'

const tls = suite('esim-smdp/es2-tls')
let all: Es2Bed

tls.before(async () => {
  all = await startEs2()
  writeFileSync(join(all.dir.path, 'ci.pem'), pemOf(all.pki.ci.certificate.raw))
})
tls.after(() => all.stop())

const HEADER = { functionRequesterIdentifier: '1', functionCallIdentifier: 'curl' }
const BODY = JSON.stringify({ header: HEADER, profileType: 'default' })

function curl(client: readonly string[], more: readonly string[] = []): Promise<Ended> {
  const url = `https://${HOST}:${all.port}/gsma/rsp2/es2plus/downloadOrder`
  const ca = ['--cacert', join(all.dir.path, 'ci.pem')]
  const at = ['--resolve', `${HOST}:${all.port}:127.0.0.1`]
  return run('curl', ['-sS', '-i', ...at, ...ca, ...client, '-d', BODY, ...more, url])
}
function clientArgs(name: string, { cert, key }: ClientKeys): readonly string[] {
  const [certFile, keyFile] = [join(all.dir.path, `${name}.pem`), join(all.dir.path, `${name}.key`)]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key, { mode: 0o600 })
  return ['--cert', certFile, '--key', keyFile]
}

tls('serves a client of its authority, and tells which protocol it speaks', async () => {
  for (const version of ['1.2', '1.3']) {
    const { code, out } = await curl(clientArgs('bss', all.client('bss')), [
      '--tls-max',
      version,
      `--tlsv${version}`,
    ])
    assert.is(code, 0, out)
    assert.match(out, /^HTTP\/1.1 200/)
    assert.match(out, /x-admin-protocol: gsma\/rsp\/v2\.\d+\.\d+/)
    assert.match(out, /content-type: application\/json/)
    assert.match(out, /"status":"Executed-Success"\}\},"iccid":"\d{18,19}/)
  }
})

tls('lets nobody else come as far as a request', async () => {
  const dayMs = 86_400_000
  const ended = { notBeforeMs: Date.UTC(2020, 0, 1), notAfterMs: Date.now() - dayMs }
  const early = { notBeforeMs: Date.now() + dayMs, notAfterMs: Date.UTC(2049, 0, 1) }
  const strangers: Readonly<Record<string, readonly string[]>> = {
    nobody: [],
    foreign: clientArgs('foreign', clientUnder(newCa('Order systems'), 'bss')),
    expired: clientArgs('expired', all.client('bss', all.clientCa, ended)),
    early: clientArgs('early', all.client('bss', all.clientCa, early)),
  }
  for (const [name, client] of Object.entries(strangers))
    for (const version of ['1.2', '1.3']) {
      const { code, out } = await curl(client, ['--tls-max', version])
      assert.is.not(code, 0, `${name}: ${out}`)
      assert.not.match(out, /HTTP\/1|functionExecutionStatus/, name)
    }
  const { out } = await run('openssl', [
    's_client',
    ...['-connect', `127.0.0.1:${all.port}`, '-servername', HOST, '-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'],
  ])
  assert.not.match(out, /Cipher is [A-Z]+-/, 'TLS 1.1')
})

tls('opens nothing without authorities of its clients', async () => {
  const empty = join(all.dir.path, 'empty.pem')
  writeFileSync(empty, '')
  for (const client_ca of ['', empty, join(all.dir.path, 'missing.pem')]) {
    const port = await unusedPort()
    const es2 = { ...CONFIG.es2, listen: `127.0.0.1:${port}`, client_ca }
    const one = await world({ config: { es2 } })
    const service = createEs2Service(one.parts)
    await service.start()
    const [{ status, detail = '' } = {}] = service.health()
    assert.is(status, 'down')
    assert.match(detail, /^esim\.es2\.listen is .*(authorities|no certificate|no such file)/)
    const { code } = await run('curl', ['-sS', '-k', `https://127.0.0.1:${port}/`])
    assert.is(code, 7, 'connection refused')
    await service.stop()
    await one.close()
  }
})

tls('is off unless it is asked for, and never on the port of the API', async () => {
  const { status } = await all.bed.request('POST', '/gsma/rsp2/es2plus/downloadOrder', {
    body: { header: HEADER, profileType: 'default' },
  })
  assert.is(status, 404)
})

tls.run()
