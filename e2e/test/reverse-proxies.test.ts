import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, stretched, suite, unusedPort } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { startedProcesses, urlOf } from '../harness/launch.ts'
import { hasProxies, type ReverseProxy, startCaddy, startNginx } from '../harness/proxies.ts'
import { openWorkshop, type Workshop } from '../harness/tls-witness.ts'
import { totpAt } from '../harness/totp.ts'

interface Visit {
  readonly method?: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** An answer, its body parsed when it is JSON. */
interface Visited {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever shape the route documents
  readonly body: any
}

/** Someone at an address of their own on loopback who trusts one authority. */
interface Visitor {
  ask(url: string, visit?: Visit): Promise<Visited>
  /** Opens a stream of events; `text` grows. Resolves with the head of the answer. */
  listen(url: string, token: string): Promise<{ readonly text: () => string; close(): void }>
  leave(): void
}

/** A visitor from `address`, 127.0.0.0/8. */
function visitorFrom(address: string, ca: string): Visitor {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 4, ca, localAddress: address })
  return {
    ask: (url, { method = 'GET', token, headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const own = {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        }
        const request = https.request(url, { method, agent, headers: { ...own, ...headers } }, (incoming) => {
          const pieces: Buffer[] = []
          incoming.on('data', (piece) => pieces.push(piece))
          incoming.on('error', reject)
          incoming.on('end', () => {
            const text = Buffer.concat(pieces).toString()
            const isJson = incoming.headers['content-type']?.includes('json') === true && text !== ''
            const { statusCode = 0, headers: got } = incoming
            resolve({ status: statusCode, headers: got, body: isJson ? JSON.parse(text) : text })
          })
        })
        request.on('error', reject)
        request.end(body)
      }),
    listen: (url, token) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` }
        const request = https.get(url, { agent: false, ca, localAddress: address, headers }, (incoming) => {
          let text = ''
          incoming.setEncoding('utf8').on('data', (piece: string) => {
            text += piece
          })
          incoming.on('error', () => undefined)
          resolve({ text: () => text, close: () => request.destroy() })
        })
        request.on('error', reject)
      }),
    leave: () => agent.destroy(),
  }
}

/*
 * docs/proxies as they stand, but for names and ports, in real nginx and Caddy in front of one service: over its plain listener on loopback,
 * and over TLS. The proxies ask from 127.0.0.1, visitors from addresses of their own.
 */
const proxied = suite('e2e/reverse-proxies')
const TOKEN = 'proxy-test-admin-token-0123456789abcdef'
const SECOND_MS = 1_000
/** The most that POST /v1/sims/import takes is 16 MiB. */
const IMPORT_BYTES = 16_700_000

const started = startedProcesses()
const visitors: Visitor[] = []
let folder: string
let workshop: Workshop | undefined
let ca: string
let direct: string
let proxies: readonly ReverseProxy[] = []

proxied.before(async () => {
  if (!hasProxies()) return
  folder = mkdtempSync(join(tmpdir(), 'steeple-proxies-'))
  const plain = `127.0.0.1:${await unusedPort()}`
  const dataDir = join(folder, 'data')
  const run = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
    env: {
      SVC_ADMIN_TOKEN: TOKEN,
      SVC_TLS_ENABLED: 'true',
      SVC_SERVER_PLAIN_LISTEN: plain,
      SVC_SERVER_TRUSTED_PROXIES: '127.0.0.1/32',
    },
  })
  const secure = new URL(await urlOf(run)).host
  direct = `http://${plain}`
  await eventually(async () => (await fetch(`${direct}/v1/healthz`)).status === 200)
  workshop = openWorkshop()
  const authority = workshop.ca('Somebody whom browsers trust')
  const certificate = workshop.leaf('proxy', authority, ['subjectAltName=IP:127.0.0.1'])
  ca = readFileSync(authority.cert, 'utf8')
  const around = {
    folder,
    certificate,
    plain,
    secure: { address: secure, ca: join(dataDir, 'keys', 'mesh-ca.pem') },
  }
  const nginx = await startNginx(around)
  proxies = nginx
  proxies = [...nginx, await startCaddy(around)]
})

proxied.after(async () => {
  for (const visitor of visitors) visitor.leave()
  for (const proxy of proxies) await proxy.stop()
  started.endAll()
  workshop?.remove()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

function visitor(address: string): Visitor {
  const made = visitorFrom(address, ca)
  visitors.push(made)
  return made
}

/** A test of each proxy; without them there is nothing to try. */
function ofEach(title: string, body: (proxy: ReverseProxy, at: number) => Promise<void>): void {
  proxied(title, async () => {
    assert.is(proxies.length, hasProxies() ? 3 : 0)
    for (const [at, proxy] of proxies.entries()) {
      await body(proxy, at).catch((cause: unknown) => {
        throw new Error(`${proxy.name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
      })
    }
  })
}

ofEach('issues a SIM, and tells of it within a second', async ({ url }) => {
  const someone = visitor('127.0.0.5')
  const events = await someone.listen(`${url}/v1/events`, TOKEN)
  // Where the stream begins comes first.
  await eventually(() => /^id: \d+$/m.test(events.text()))
  const made = await someone.ask(`${url}/v1/sims`, { method: 'POST', token: TOKEN, body: '{"count":1}' })
  assert.is(made.status, 201)
  const answeredAt = performance.now()
  await eventually(() => events.text().includes('event: sim.issue'))
  const ms = performance.now() - answeredAt
  assert.ok(ms <= stretched(SECOND_MS), `${ms} ms`)
  events.close()
  const missing = await someone.ask(`${url}/v1/sims/0123456789ab`, { token: TOKEN })
  assert.is(missing.body.error.code, 'sim_not_found')
})

ofEach('takes an import as large as the service takes', async ({ url }, at) => {
  const row = {
    imsi: `99999000000000${at + 1}`,
    ki: '465b5ce8b199b49faa5f0a2ee238a6bc',
    opc: 'cd63cb71954a9f4e48a5994e37a02baf',
  }
  const body = JSON.stringify({ sims: [row] }).padEnd(IMPORT_BYTES)
  const taken = await visitor('127.0.0.5').ask(`${url}/v1/sims/import`, {
    method: 'POST',
    token: TOKEN,
    body,
  })
  assert.is(taken.status, 200, JSON.stringify(taken.body))
  assert.is(taken.body.imported, 1)
})

ofEach(
  'names the client in the audit trail, whatever it says of itself, and gives it a cookie for TLS alone',
  async ({ url }, at) => {
    const address = `127.0.1.${at + 1}`
    const someone = visitor(address)
    const name = `person-${at}`
    const added = await someone.ask(`${url}/v1/users`, {
      method: 'POST',
      token: TOKEN,
      body: JSON.stringify({ name, roles: ['viewer'] }),
    })
    assert.is(added.status, 201)
    const { password, totp_uri: uri } = added.body
    const entered = await someone.ask(`${url}/v1/auth/login`, {
      method: 'POST',
      headers: {
        'x-forwarded-for': '127.0.0.1, 10.9.9.9',
        'x-forwarded-proto': 'http',
        forwarded: 'for=10.9.9.9',
      },
      body: JSON.stringify({ username: name, password, code: totpAt(uri, Date.now()) }),
    })
    assert.is(entered.status, 200)
    assert.match(String(entered.headers['set-cookie']), /; Secure/)
    const { entries } = (await someone.ask(`${url}/v1/audit?action=auth.login&limit=500`, { token: TOKEN }))
      .body
    const details = entries.map(({ detail }: { readonly detail: { readonly user?: string } }) => detail)
    assert.is(details.find(({ user }: { readonly user?: string }) => user === name)?.address, address)
  },
)

ofEach('throttles who guesses, and nobody else behind the same proxy', async ({ url }, at) => {
  const guesser = visitor(`127.0.2.${at + 1}`)
  const status = async (who: Visitor): Promise<number> =>
    (await who.ask(`${url}/v1/status`, { token: 'a-guess' })).status
  let guesses = 0
  while ((await status(guesser)) !== 429) {
    guesses += 1
    assert.ok(guesses < 2_000, 'nobody is throttled')
  }
  assert.ok(guesses >= 100, `${guesses} guesses`)
  assert.is(await status(visitor(`127.0.3.${at + 1}`)), 401)
})

ofEach('shows no metrics', async ({ url }) => {
  assert.is((await visitor('127.0.0.5').ask(`${url}/metrics`)).status, 403)
})

proxied('shows the documentation page in a browser', async () => {
  const path = findBrowser()
  if (path === undefined || proxies.length === 0) return assert.is(proxies.length, hasProxies() ? 3 : 0)
  await using browser = await openBrowser(path, ['--ignore-certificate-errors'])
  for (const { name, url } of proxies) {
    const { page, problems, hosts } = await browser.open(`${url}/v1/docs`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('/v1/sims/{imsi}').first().waitFor()
    assert.equal(problems, [], name)
    assert.equal([...hosts], [new URL(url).host], name)
    await page.close()
  }
})

proxied.run()
