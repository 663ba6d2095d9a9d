import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { type Issued, issueCi, issueTls, type RspCurve } from '@steeple/sgp22'
import { assert, eventually, stretched, suite, type TempDir, tempDir } from '@steeple/testkit'
import { pemOf } from '../src/certs/held.ts'
import type { Handler } from '../src/listen/exchange.ts'
import {
  type ClientHello,
  type ListenerLimits,
  listenTls,
  type TlsListener,
} from '../src/listen/tls-listener.ts'
import type { TlsMaterial } from '../src/parts.ts'
import { run } from './support/programs.ts'

const listening = suite('esim-smdp/listen')
const PATH = '/gsma/rsp2/es9plus/initiateAuthentication'
const YEAR_MS = 365 * 86_400_000
const NOTHING = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

let dir: TempDir
listening.before(async () => {
  dir = await tempDir()
})
listening.after(() => dir.remove())

function newCi(curve: RspCurve): Issued {
  const from = Date.now() - YEAR_MS
  const subject = { commonName: 'CI', organization: 'Test' }
  return issueCi(curve, {
    notBeforeMs: from,
    notAfterMs: from + 10 * YEAR_MS,
    subject,
    registeredId: '2.999.1',
  })
}
function newTls(ci: Issued, host: string, notAfterMs = Date.now() + YEAR_MS): Issued {
  const notBeforeMs = Date.now() - YEAR_MS
  return issueTls(ci, {
    notBeforeMs,
    notAfterMs,
    organization: 'Test',
    hosts: [host],
    registeredId: '2.999.10',
  })
}
const materialOf = ({ certificate, key }: Issued): TlsMaterial => ({
  cert: pemOf(certificate.raw),
  key: String(key.export({ format: 'pem', type: 'pkcs8' })),
})
async function fileOf(name: string, text: string): Promise<string> {
  const path = `${dir.path}/${name}`
  await writeFile(path, text)
  return path
}

interface Listening {
  readonly material: (hello: ClientHello) => TlsMaterial | undefined
  readonly handler?: Handler
  readonly clientCa?: string
  readonly limits?: Partial<ListenerLimits>
}
async function withListener(of: Listening, work: (listener: TlsListener) => Promise<void>): Promise<void> {
  const echo: Handler = async ({ octets, client }) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: {
      octets: octets.length,
      client: client === undefined ? null : (/^CN=(.*)$/m.exec(client.subject)?.[1] ?? ''),
    },
  })
  const listener = await listenTls({
    host: '127.0.0.1',
    port: 0,
    material: of.material,
    handlers: new Map([[PATH, of.handler ?? echo]]),
    log: NOTHING,
    ...(of.clientCa !== undefined && { clientCa: of.clientCa }),
    ...(of.limits && { limits: of.limits }),
  })
  try {
    await work(listener)
  } finally {
    await listener.stop()
  }
}
const curl = (port: number, host: string, args: readonly string[]): ReturnType<typeof run> =>
  run('curl', ['-sS', '--resolve', `${host}:${port}:127.0.0.1`, ...args, `https://${host}:${port}${PATH}`])

listening('serves curl by name, with the certificate of that name, on both curves', async () => {
  const [p256, brainpool] = [newCi('P-256'), newCi('brainpoolP256r1')]
  const material = new Map([
    ['a.example.org', materialOf(newTls(p256, 'a.example.org'))],
    ['b.example.org', materialOf(newTls(brainpool, 'b.example.org'))],
  ])
  const a = await fileOf('a.pem', pemOf(p256.certificate.raw))
  const b = await fileOf('b.pem', pemOf(brainpool.certificate.raw))
  await withListener(
    { material: ({ host = 'a.example.org' }) => material.get(host) ?? material.get('a.example.org') },
    async ({ port }) => {
      const first = await curl(port, 'a.example.org', ['--cacert', a, '-d', 'abc'])
      assert.equal([first.code, first.out], [0, '{"octets":3,"client":null}'])
      const groups = ['--tls-max', '1.2', '--curves', 'X25519:prime256v1:brainpoolP256r1']
      const second = await curl(port, 'b.example.org', ['--cacert', b, ...groups, '-d', 'abcd'])
      assert.equal([second.code, second.out], [0, '{"octets":4,"client":null}'])
      // Another name than the certificate's, and another CI.
      assert.is((await curl(port, 'c.example.org', ['--cacert', a, '-d', 'x'])).code, 60)
      assert.is((await curl(port, 'a.example.org', ['--cacert', b, '-d', 'x'])).code, 60)
      const old = await run('openssl', [
        's_client',
        '-connect',
        `127.0.0.1:${port}`,
        '-tls1_1',
        '-cipher',
        'ALL:@SECLEVEL=0',
      ])
      assert.match(old.out, /Cipher is \(NONE\)/)
    },
  )
})

listening('chooses between curves by what openssl offers, with a name and without', async () => {
  const [p256, brainpool] = [newCi('P-256'), newCi('brainpoolP256r1')]
  const of = {
    p256: materialOf(newTls(p256, 'a.example.org')),
    brainpool: materialOf(newTls(brainpool, 'a.example.org')),
  }
  const material = ({ groups }: ClientHello): TlsMaterial =>
    groups.includes(23) ? of.p256 : { ...of.brainpool, curve: 'brainpoolP256r1' }
  await withListener({ material }, async ({ port }) => {
    const shown = async (...args: readonly string[]): Promise<string> => {
      const { out } = await run('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...args])
      const pem = /-----BEGIN CERTIFICATE-----[\s\S]*-----END CERTIFICATE-----\n/.exec(out)?.[0]
      return pem === of.p256.cert ? 'P-256' : pem === of.brainpool.cert ? 'brainpool' : out
    }
    const named = ['-servername', 'a.example.org']
    for (const name of [named, ['-noservername']]) {
      assert.is(await shown(...name), 'P-256')
      assert.is(await shown(...name, '-groups', 'X25519:brainpoolP256r1'), 'brainpool')
      assert.is(await shown(...name, '-groups', 'X25519:brainpoolP256r1:P-256', '-tls1_2'), 'P-256')
    }
  })
})

listening('takes a renewed certificate for new connections, and keeps those that stand', async () => {
  const ci = newCi('P-256')
  let material = materialOf(newTls(ci, 'a.example.org'))
  const trusted = pemOf(ci.certificate.raw)
  await withListener({ material: () => material }, async (listener) => {
    const open = (servername?: string): Promise<TLSSocket> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({
          host: '127.0.0.1',
          port: listener.port,
          ca: trusted,
          checkServerIdentity: () => undefined,
          ...(servername && { servername }),
        })
        socket.once('error', reject)
        socket.once('secureConnect', () => resolve(socket))
      })
    const [named, nameless] = [await open('a.example.org'), await open()]
    const before = named.getPeerCertificate().serialNumber
    assert.is(nameless.getPeerCertificate().serialNumber, before)
    material = materialOf(newTls(ci, 'a.example.org'))
    const after = [await open('a.example.org'), await open()]
    const renewed = after.map((socket) => socket.getPeerCertificate().serialNumber)
    assert.is(renewed[0], renewed[1])
    assert.is.not(renewed[0], before)
    for (const socket of [named, nameless, ...after]) assert.match(await posted(socket), /^HTTP\/1\.1 200 /)
    for (const socket of [named, nameless, ...after]) socket.destroy()
  })
})

listening('shows an expired certificate for what it is, and closes at once without any', async () => {
  const ci = newCi('P-256')
  const file = await fileOf('expired-ci.pem', pemOf(ci.certificate.raw))
  let material: TlsMaterial | undefined = materialOf(newTls(ci, 'a.example.org', Date.now() - 86_400_000))
  await withListener({ material: () => material }, async ({ port }) => {
    const expired = await curl(port, 'a.example.org', ['--cacert', file, '-d', 'x'])
    assert.is(expired.code, 60)
    assert.match(expired.out, /expired/)
    material = undefined
    assert.is((await curl(port, 'a.example.org', ['--cacert', file, '-d', 'x'])).code, 35)
  })
})

listening('lets in only clients of the given authority where one is given', async () => {
  const [ci, clients, strangers] = [newCi('P-256'), newCi('P-256'), newCi('P-256')]
  const material = materialOf(newTls(ci, 'a.example.org'))
  const ca = await fileOf('mutual-ci.pem', pemOf(ci.certificate.raw))
  const asClient = async (name: string, issued: Issued): Promise<readonly string[]> => [
    '--cert',
    await fileOf(`${name}.pem`, materialOf(issued).cert),
    '--key',
    await fileOf(`${name}.key`, materialOf(issued).key),
  ]
  await withListener(
    { material: () => material, clientCa: pemOf(clients.certificate.raw) },
    async ({ port }) => {
      const known = await asClient('bss', newTls(clients, 'bss.example.org'))
      const stranger = await asClient('stranger', newTls(strangers, 'bss.example.org'))
      const expired = await asClient('expired', newTls(clients, 'bss.example.org', Date.now() - 86_400_000))
      for (const host of ['a.example.org', '127.0.0.1']) {
        const call = (args: readonly string[]): ReturnType<typeof run> =>
          curl(port, host, [...(host === '127.0.0.1' ? ['-k'] : ['--cacert', ca]), '-d', 'abc', ...args])
        assert.equal((await call(known)).out, '{"octets":3,"client":"bss.example.org"}')
        for (const refused of [[], stranger, expired]) {
          const { code, out } = await call(refused)
          assert.is.not(code, 0, out)
          assert.not.match(out, /octets/)
        }
      }
    },
  )
})

listening('is bounded: size of a request, and what is asked for', async () => {
  const material = materialOf(newTls(newCi('P-256'), 'a.example.org'))
  await withListener({ material: () => material }, async ({ port }) => {
    const large = await fileOf('large', 'x'.repeat(65_537))
    for (const args of [[], ['-H', 'Transfer-Encoding: chunked']]) {
      const { out } = await curl(port, 'a.example.org', [
        '-k',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        ...args,
        '--data-binary',
        `@${large}`,
      ])
      assert.match(out, /^413/)
    }
    const get = await run('curl', [
      '-sSk',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      `https://127.0.0.1:${port}${PATH}`,
    ])
    assert.is(get.out, '405')
    const other = await run('curl', [
      '-sSk',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '-d',
      'x',
      `https://127.0.0.1:${port}/v1/sims`,
    ])
    assert.is(other.out, '404')
    const words = await new Promise<string>((resolve) => {
      const plain = connect(port, '127.0.0.1', () => plain.write('POST / HTTP/1.1\r\n\r\n'))
      plain.once('error', () => resolve(''))
      plain.once('close', () => resolve(''))
      plain.once('data', (octets: Buffer) => resolve(String(octets)))
    })
    assert.is(words, '')
  })
})

listening('hears out who sends too much, and so is no reset before the answer is read', async () => {
  const material = materialOf(newTls(newCi('P-256'), 'a.example.org'))
  await withListener({ material: () => material }, async ({ port }) => {
    const piece = 'x'.repeat(70_000)
    const chunk = `${piece.length.toString(16)}\r\n${piece}\r\n`
    const requests = [
      [`Transfer-Encoding: chunked\r\n\r\n${chunk}`, `${chunk}0\r\n\r\n`],
      [`Content-Length: ${2 * piece.length}\r\n\r\n${piece}`, piece],
    ] as const
    for (const [beginning, rest] of requests) {
      const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false })
      let answer = ''
      let isSent = false
      const end = new Promise<string>((resolve) => {
        socket.on('data', (octets: Buffer) => {
          answer += octets.toString()
          setImmediate(() => {
            isSent = true
            socket.write(rest)
          })
        })
        socket.once('end', () => resolve(isSent ? 'after the rest' : 'before the rest'))
        socket.once('error', ({ message }) => resolve(message))
      })
      socket.write(`POST ${PATH} HTTP/1.1\r\nHost: a.example.org\r\n${beginning}`)
      assert.is(await end, 'after the rest')
      assert.match(answer, /^HTTP\/1\.1 413 .*\r\n(?:.+\r\n)*connection: close\r\n(?:.+\r\n)*\r\n$/i)
    }
  })
})

listening('is bounded: time of a request, connections of a network', async () => {
  const material = materialOf(newTls(newCi('P-256'), 'a.example.org'))
  const limits = { ofOneNetwork: 8, headMs: stretched(1_000), requestMs: stretched(3_000) }
  await withListener({ material: () => material, limits }, async (listener) => {
    const { port } = listener
    // Nobody who only holds connections keeps others out for long, and not one beyond the limit stays.
    const held = Array.from({ length: 12 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
    await eventually(() => assert.is(listener.connections, 8))
    await eventually(() => assert.is(listener.connections, 0))
    for (const socket of held) socket.destroy()
    assert.is((await curl(port, 'a.example.org', ['-k', '-d', 'x'])).code, 0)
  })
})

listening('closes a connection that it cannot serve, and goes on', async () => {
  const material = materialOf(newTls(newCi('P-256'), 'a.example.org'))
  let isBroken = true
  const options = {
    material: () => {
      if (isBroken) throw new Error('its certificate cannot be used')
      return material
    },
  }
  await withListener(options, async ({ port }) => {
    assert.is.not((await curl(port, 'a.example.org', ['-k', '-d', 'x'])).code, 0)
    isBroken = false
    assert.is((await curl(port, 'a.example.org', ['-k', '-d', 'x'])).code, 0)
  })
})

listening('lets a request end that is under way when it stops, and leaves the port', async () => {
  const material = materialOf(newTls(newCi('P-256'), 'a.example.org'))
  let begun: () => void = () => undefined
  let finish: () => void = () => undefined
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const handler: Handler = async () => {
    begun()
    await finished
    return { status: 200, headers: {}, body: { done: true } }
  }
  await withListener({ material: () => material, handler }, async (listener) => {
    const idle = connectTls({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false })
    idle.on('error', () => undefined)
    await new Promise((resolve) => idle.once('secureConnect', resolve))
    const answer = curl(listener.port, 'a.example.org', ['-k', '-i', '-d', 'x'])
    await isBegun
    const stopped = listener.stop()
    finish()
    const { out } = await answer
    assert.match(out, /connection: close[\s\S]*\{"done":true\}$/i)
    await stopped
    assert.is(listener.connections, 0)
    assert.is((await curl(listener.port, 'a.example.org', ['-k', '-d', 'x'])).code, 7)
  })
})

listening('closes on who sends requests by the thousand without an answer', async () => {
  const material = materialOf(newTls(newCi('P-256'), 'a.example.org'))
  let begun = 0
  let most = 0
  const handler: Handler = async () => {
    begun += 1
    most = Math.max(most, begun)
    await new Promise((resolve) => setImmediate(resolve))
    begun -= 1
    return { status: 200, headers: {}, body: {} }
  }
  await withListener({ material: () => material, handler }, async (listener) => {
    const socket = connectTls({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false })
    const isClosed = new Promise((resolve) => {
      socket.once('error', () => undefined).once('close', resolve)
    })
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx`.repeat(1_000))
    await isClosed
    assert.ok(most <= 4)
    assert.is((await curl(listener.port, 'a.example.org', ['-k', '-d', 'x'])).code, 0)
    await eventually(() => assert.is(begun, 0))
  })
})

listening('answers a handler that fails without a word of why', async () => {
  const material = materialOf(newTls(newCi('P-256'), 'a.example.org'))
  const handler: Handler = async () => {
    throw new Error('secret words')
  }
  await withListener({ material: () => material, handler }, async ({ port }) => {
    const { out } = await curl(port, 'a.example.org', ['-k', '-i', '-d', 'x'])
    assert.match(out, /^HTTP\/1\.1 500 /)
    assert.not.match(out, /secret/)
  })
})

/** Sends a request on an open connection and gives what comes first. */
function posted(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('data', (octets: Buffer) => resolve(octets.toString('latin1')))
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed without an answer')))
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: a.example.org\r\nContent-Length: 1\r\n\r\nx`)
  })
}

listening.run()
