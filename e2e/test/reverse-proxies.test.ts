import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, stretched, suite, unusedPort } from '@steeple/testkit'
import { findBrowser, openBrowser } from '../harness/browser.ts'
import { runsWith } from '../harness/compatibility/runs.ts'
import { ROOT, urlOf } from '../harness/launch.ts'
import { totpAt } from '../harness/people.ts'
import { startedProcesses } from '../harness/service.ts'
import { openWorkshop, type Workshop } from '../harness/tls-witness.ts'

const EXAMPLES = join(ROOT, 'docs/proxies')

/** Whether Debian's nginx and Caddy are here. In CI they must be. */
function hasProxies(): boolean {
  const isHere = [['nginx', '-v'] as const, ['caddy', 'version'] as const].every(
    ([name, flag]) => spawnSync(name, [flag]).error === undefined,
  )
  if (!isHere && process.env.CI === 'true')
    throw new Error('needs nginx and caddy: apt install nginx-light caddy')
  if (isHere) {
    runsWith('nginx', 'nginx', '-v')
    runsWith('Caddy', 'caddy', 'version')
  }
  return isHere
}

/** A reverse proxy that runs with an example of docs/proxies. */
interface ReverseProxy {
  readonly name: string
  readonly url: string
  stop(): Promise<void>
}

/** What a proxy presents, and where it finds what it is in front of. */
interface Surroundings {
  readonly folder: string
  /** Files of its certificate, for 127.0.0.1. */
  readonly certificate: { readonly cert: string; readonly key: string }
  /** `host:port` of the service, without TLS. */
  readonly plain: string
  /** `host:port` of the service with TLS, and the file of its authority. */
  readonly secure: { readonly address: string; readonly ca: string }
}

/** nginx with docs/proxies/nginx.conf, and a second time with TLS to the service too, as nginx-tls.conf says. */
async function startNginx(around: Surroundings): Promise<readonly ReverseProxy[]> {
  const folder = join(around.folder, 'nginx')
  mkdirSync(folder)
  const ports = [await unusedPort(), await unusedPort()] as const
  const site = (port: number, service: string, name: string): string =>
    replaced(readFileSync(join(EXAMPLES, 'nginx.conf'), 'utf8'), [
      ['upstream steeple', `upstream ${name}`],
      ['server 127.0.0.1:8080;', `server ${service};`],
      ['listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`],
      ['/etc/ssl/box.pem', around.certificate.cert],
      ['/etc/ssl/box.key', around.certificate.key],
      ['proxy_pass http://steeple;', `proxy_pass http://${name};`],
    ])
  const overTls = replaced(readFileSync(join(EXAMPLES, 'nginx-tls.conf'), 'utf8'), [
    ['https://steeple', 'https://secure'],
    ['/etc/ssl/steeple-ca.pem', around.secure.ca],
  ])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder};`,
  )
  const text = [
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `worker_processes 1; pid ${folder}/pid; error_log stderr; events {}`,
    `http { access_log off; ${temporary.join(' ')}`,
    site(ports[0], around.plain, 'plain'),
    replaced(site(ports[1], around.secure.address, 'secure'), [['proxy_pass http://secure;', overTls]]),
    '}',
  ].join('\n')
  writeFileSync(join(folder, 'nginx.conf'), text)
  const run = start('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'], folder)
  const names = ['nginx', 'nginx over TLS']
  return await Promise.all(ports.map((port, at) => ready(names[at] ?? '', port, run)))
}

/** Caddy with docs/proxies/Caddyfile, with a certificate that is there already. */
async function startCaddy(around: Surroundings): Promise<ReverseProxy> {
  const folder = join(around.folder, 'caddy')
  mkdirSync(folder)
  const port = await unusedPort()
  const { cert, key } = around.certificate
  const site = replaced(readFileSync(join(EXAMPLES, 'Caddyfile'), 'utf8'), [
    ['box.example.org {', `https://127.0.0.1:${port} {\n\ttls ${cert} ${key}`],
    ['127.0.0.1:8080', around.plain],
  ])
  const alone = '{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n'
  writeFileSync(join(folder, 'Caddyfile'), alone + site)
  const run = start('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], folder)
  return await ready('Caddy', port, run)
}

/** Every text in the place of another, each of which must be there: an example that changes changes its test. */
function replaced(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`the example does not hold ${from}`)
    return changed.replaceAll(from, () => to)
  }, text)
}

interface Run {
  readonly child: ChildProcess
  readonly said: () => string
  readonly ended: Promise<void>
}

function start(program: string, args: readonly string[], folder: string): Run {
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const out of [child.stdout, child.stderr])
    out.on('data', (piece) => {
      text += piece
    })
  const ended = new Promise<void>((resolve) => {
    child.on('error', () => resolve())
    child.on('close', () => resolve())
  })
  return { child, said: () => text, ended }
}

async function ready(name: string, port: number, { child, said, ended }: Run): Promise<ReverseProxy> {
  const url = `https://127.0.0.1:${port}`
  await eventually(async () => child.exitCode !== null || (await answers(url))).catch((cause: unknown) => {
    child.kill('SIGKILL')
    throw new Error(`${name} does not answer:\n${said()}`, { cause })
  })
  if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}:\n${said()}`)
  return {
    name,
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = https.get(
      `${url}/v1/healthz`,
      { rejectUnauthorized: false, agent: false },
      (incoming) => {
        incoming.resume()
        resolve(incoming.statusCode === 200)
      },
    )
    request.on('error', () => resolve(false))
  })
}

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
