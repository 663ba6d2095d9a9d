import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import https from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { assert, eventually, suite } from '@steeple/testkit'
import { urlOf } from '../harness/launch.ts'
import { startedProcesses } from '../harness/service.ts'

const ADMIN = 'tls-test-admin-token-0123456789abcdef'

const secure = suite('e2e/tls')
const started = startedProcesses()

let dataDir: string
let port: number
let ca: string
let introduction: string

secure.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'steeple-tls-'))
  const run = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
    env: { SVC_ADMIN_TOKEN: ADMIN, SVC_TLS_ENABLED: 'true' },
  })
  const url = await urlOf(run)
  assert.match(url, /^https:/)
  port = Number(new URL(url).port)
  await eventually(() => run.stdout().includes('Ctrl-C ends it.'))
  introduction = run.stdout()
  ca = readFileSync(join(dataDir, 'keys', 'mesh-ca.pem'), 'utf8')
})

secure.after(() => {
  started.endAll()
  rmSync(dataDir, { recursive: true, force: true })
})

interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
}

function get(path: string, options: https.RequestOptions): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const request = https.get({ host: '127.0.0.1', port, path, agent: false, ...options }, (incoming) => {
      let body = ''
      incoming.on('data', (chunk) => {
        body += chunk
      })
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }))
    })
    request.on('error', reject)
  })
}

function handshake(options: tls.ConnectionOptions): Promise<string> {
  return new Promise((resolve) => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca, ...options }, () => {
      resolve(socket.getProtocol() ?? '')
      socket.destroy()
    })
    socket.on('error', (error) => resolve(`refused: ${(error as { code?: string }).code}`))
  })
}

secure('serves a client that trusts the mesh CA, with HSTS', async () => {
  const health = await get('/v1/healthz', { ca })
  assert.is(health.status, 200)
  assert.match(String(health.headers['strict-transport-security']), /^max-age=\d{7,}/)
  const refused = await get('/v1/tokens', { ca })
  assert.is(refused.status, 401)
  assert.ok(refused.headers['strict-transport-security'])
  const tokens = await get('/v1/tokens', { ca, headers: { authorization: `Bearer ${ADMIN}` } })
  assert.is(tokens.status, 200)
})

secure('tells a newcomer commands that trust the mesh CA', () => {
  const commands = introduction.split('\n').filter((line) => line.startsWith('  curl '))
  assert.ok(commands.length >= 3)
  const trusting = `  curl -s --cacert ${join(dataDir, 'keys', 'mesh-ca.pem')} `
  for (const command of commands) assert.ok(command.startsWith(trusting), command)
})

secure('is not trusted without the mesh CA', async () => {
  const failure = await get('/v1/healthz', {}).then(
    () => 'was trusted',
    (error: { code?: string }) => String(error.code),
  )
  assert.match(failure, /SELF_SIGNED|UNABLE_TO/)
})

secure('never answers plaintext', async () => {
  for (const text of [
    'GET /v1/healthz HTTP/1.1\r\nHost: x\r\n\r\n',
    `GET /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN}\r\n\r\n`,
    'EHLO example.org\r\n',
  ]) {
    const answer = await plain(text)
    assert.is(answer, '')
  }
})

secure('speaks TLS 1.3 and nothing older', async () => {
  assert.is(await handshake({ minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' }), 'TLSv1.3')
  assert.match(await handshake({ minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' }), /^refused/)
  // The client's own library refuses old versions unless its security level is lowered.
  const old = { ciphers: 'DEFAULT@SECLEVEL=0' }
  assert.match(await handshake({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ...old }), /^refused/)
  assert.match(await handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1', ...old }), /^refused/)
})

/** What comes back for bytes without TLS until the connection is closed; fails when it stays open. */
function plain(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setTimeout(60_000, () => reject(new Error('the connection stays open')))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => resolve(answer))
    socket.on('close', () => resolve(answer))
  })
}

secure.run()
