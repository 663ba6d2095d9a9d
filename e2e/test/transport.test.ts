import { X509Certificate } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Launched, urlOf } from '../harness/launch.ts'
import { startedProcesses } from '../harness/service.ts'
import {
  curl,
  handshakeOf,
  hasTlsWitnesses,
  openWorkshop,
  type Pair,
  type Workshop,
} from '../harness/tls-witness.ts'

const ADMIN = 'transport-test-admin-token-0123456789'
const NODE = 'URI:svc://node/00000000-0000-4000-8000-000000000000'
const SERVER = ['subjectAltName=DNS:localhost,IP:127.0.0.1', 'extendedKeyUsage=serverAuth']

const transport = suite('e2e/transport')
const started = startedProcesses()

let workshop: Workshop
let dataDir: string
let service: Launched
let port: number
let plainUrl: string
/** The box's own CA, as the box has it on its disk. */
let meshCa: Pair
/** The CA of the certificate that the listener was given. */
let siteCa: Pair
let site: Pair

if (hasTlsWitnesses()) {
  transport.before(async () => {
    workshop = openWorkshop()
    dataDir = mkdtempSync(join(tmpdir(), 'steeple-transport-'))
    siteCa = workshop.ca('site-ca')
    const first = workshop.leaf('first', siteCa, SERVER)
    site = { cert: join(workshop.folder, 'site.pem'), key: join(workshop.folder, 'site.key') }
    put(first)
    service = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
      env: {
        SVC_ADMIN_TOKEN: ADMIN,
        SVC_TLS_ENABLED: 'true',
        SVC_TLS_CERT_FILE: site.cert,
        SVC_TLS_KEY_FILE: site.key,
        SVC_SERVER_PLAIN_LISTEN: '127.0.0.1:0',
      },
    })
    port = Number(new URL(await urlOf(service)).port)
    plainUrl = /"plain_url":"(http:[^"]+)"/.exec(service.stdout())?.[1] ?? ''
    const keys = join(dataDir, 'keys')
    meshCa = { cert: join(keys, 'mesh-ca.pem'), key: join(keys, 'mesh-ca.key') }
  })

  transport.after(() => {
    started.endAll()
    workshop.remove()
    rmSync(dataDir, { recursive: true, force: true })
  })

  transport('shakes hands with openssl by TLS 1.3, and asks for certificates of its own CA', async () => {
    const { code, stdout } = await handshakeOf(port, [
      '-CAfile',
      siteCa.cert,
      '-verify_return_error',
      '-brief',
    ])
    assert.is(code, 0, stdout)
    const { stdout: long } = await handshakeOf(port, ['-CAfile', siteCa.cert])
    assert.match(long, /New, TLSv1\.3/)
    assert.match(long, /Verify return code: 0 \(ok\)/)
    assert.match(long, /Acceptable client certificate CA names\s+CN ?= ?Mesh CA [0-9a-f]{8}/)
  })

  transport('refuses openssl an older TLS', async () => {
    const { code, stderr } = await handshakeOf(port, ['-tls1_2'])
    assert.is(code, 1)
    assert.match(stderr, /alert protocol version/)
  })

  transport('closes curl without TLS and serves it on loopback', async () => {
    // 52: an empty answer; 56: the connection was reset.
    assert.ok([52, 56].includes((await curl(`http://127.0.0.1:${port}/v1/healthz`, [])).exit))
    assert.equal(await curl(`${plainUrl}/v1/healthz`, []), { exit: 0, status: 200, code: undefined })
    assert.is((await curl(`${plainUrl}/v1/tokens`, [])).status, 401)
  })

  transport('answers curl without a certificate, and refuses bad ones by 401', async () => {
    const url = `https://127.0.0.1:${port}/v1/status`
    const trust = ['--cacert', siteCa.cert]
    const token = ['-H', `Authorization: Bearer ${ADMIN}`]
    assert.equal(await curl(url, trust), { exit: 0, status: 401, code: 'unauthenticated' })
    const welcome = await curl(`https://127.0.0.1:${port}/v1/tokens`, [...trust, ...token])
    assert.is(welcome.status, 200)
    const foreignCa = workshop.ca('foreign-ca')
    const forClients = [`subjectAltName=${NODE}`, 'extendedKeyUsage=clientAuth']
    // Whoever can sign by the box's CA is not thereby known to it.
    const pairs: readonly (readonly [string, Pair, string])[] = [
      ['unknown', workshop.leaf('unknown', meshCa, forClients), 'unauthenticated'],
      ['foreign', workshop.leaf('foreign', foreignCa, forClients), 'unauthenticated'],
      [
        'server',
        workshop.leaf('server', meshCa, [`subjectAltName=${NODE}`, 'extendedKeyUsage=serverAuth']),
        'unauthenticated',
      ],
      [
        'ca',
        workshop.leaf('ca', meshCa, [...forClients, 'basicConstraints=critical,CA:TRUE']),
        'unauthenticated',
      ],
      ['expired', workshop.leaf('expired', meshCa, forClients, ['-days', '-1']), 'certificate_revoked'],
      [
        'critical',
        workshop.leaf('critical', meshCa, [...forClients, '1.2.3.4=critical,ASN1:NULL']),
        'unauthenticated',
      ],
      ['self-signed', foreignCa, 'unauthenticated'],
    ]
    for (const [what, pair, code] of pairs) {
      const args = [...trust, '--cert', pair.cert, '--key', pair.key]
      assert.equal(await curl(url, args), { exit: 0, status: 401, code }, what)
      assert.equal(await curl(url, [...args, ...token]), { exit: 0, status: 401, code }, what)
      assert.is((await curl(`https://127.0.0.1:${port}/v1/healthz`, args)).status, 200, what)
    }
  })

  transport('presents another certificate after SIGHUP and drops no connection', async () => {
    const ca = readFileSync(siteCa.cert, 'utf8')
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca })
    const stream = await follow(ca)
    assert.is((await onAgent(agent)).reused, false)
    const second = workshop.leaf('second', siteCa, SERVER)
    put(second)
    service.child.kill('SIGHUP')
    await eventually(async () => (await presented(ca)) === serialOf(second))
    assert.equal(await onAgent(agent), { status: 200, reused: true })
    assert.is(stream.isOpen(), true)
    stream.end()
    agent.destroy()
  })

  transport(
    'keeps its certificate beside files that do not belong together, and looks at them by itself',
    async () => {
      const ca = readFileSync(siteCa.cert, 'utf8')
      const before = await presented(ca)
      const third = workshop.leaf('third', siteCa, SERVER)
      copyFileSync(third.cert, site.cert)
      await eventually(async () => /"problem":"tls\.key_file/.test(service.stdout()))
      assert.is(await presented(ca), before)
      copyFileSync(third.key, site.key)
      await eventually(async () => (await presented(ca)) === serialOf(third))
    },
  )
}

function put(pair: Pair): void {
  copyFileSync(pair.key, site.key)
  copyFileSync(pair.cert, site.cert)
}

function serialOf({ cert }: Pair): string {
  return new X509Certificate(readFileSync(cert)).serialNumber
}

/** The serial of the certificate that a new connection gets. */
function presented(ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? '')
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

/** One request, and whether it went over a connection that was there. */
function onAgent(agent: https.Agent): Promise<{ readonly status: number; readonly reused: boolean }> {
  return new Promise((resolve, reject) => {
    const request = https.get({ host: '127.0.0.1', port, path: '/v1/healthz', agent }, (incoming) => {
      incoming.resume().on('end', () => {
        resolve({ status: incoming.statusCode ?? 0, reused: request.reusedSocket })
      })
    })
    request.on('error', reject)
  })
}

/** An event stream that has begun. */
function follow(ca: string): Promise<{ isOpen(): boolean; end(): void }> {
  const headers = { authorization: `Bearer ${ADMIN}` }
  return new Promise((resolve, reject) => {
    const request = https.get(
      { host: '127.0.0.1', port, path: '/v1/events', ca, headers, agent: false },
      (incoming) => {
        let isOpen = incoming.statusCode === 200
        incoming.resume().on('close', () => {
          isOpen = false
        })
        incoming.on('error', () => undefined)
        resolve({ isOpen: () => isOpen, end: () => request.destroy() })
      },
    )
    request.on('error', reject)
  })
}

transport.run()
