import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, eventually, suite } from '@steeple/testkit'
import { patiently } from '../harness/alerts-witness.ts'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

/*
 * Real programs that people are told by, on fixed ports: a test that starts them goes on in a network of its own. None of them
 * is part of the project or brought by it.
 */

/** The program ntfy, with its server; from its own site or a distribution. */
const NTFY: string = process.env.SVC_TEST_NTFY ?? ''
/** A Python environment with `matrix-synapse` and `matrix-webhook`, from PyPI. */
const MATRIX: string = process.env.SVC_TEST_MATRIX ?? ''

const START_LIMIT_MS = 300_000
const PASSWORD = 'chat-servers-password-1'

/** A program that shows messages to people. */
interface ChatServer {
  /** Where it takes webhooks; what stands in the documentation in its place is `of` in `documentedUrl`. */
  readonly url: string
  /** What a receiver asks for as Authorization; empty for none. */
  readonly authorization: string
  /** The messages that somebody who reads there sees, oldest first. */
  shown(): Promise<readonly string[]>
  stop(): Promise<void>
}

async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

async function isUp(url: string): Promise<boolean> {
  return await fetch(url).then(
    ({ status }) => status < 500,
    () => false,
  )
}

/** ntfy with a topic `steeple` that a token may write to. */
async function startNtfy(folder: string): Promise<ChatServer> {
  const url = 'http://127.0.0.1:8671'
  const config = join(folder, 'ntfy.yml')
  const settings = {
    'base-url': url,
    'listen-http': '127.0.0.1:8671',
    'auth-file': join(folder, 'ntfy-auth.db'),
    'auth-default-access': 'deny-all',
    'web-root': 'disable',
    // It is asked again and again.
    'visitor-request-limit-exempt-hosts': '127.0.0.1',
  }
  // JSON is YAML.
  writeFileSync(config, JSON.stringify(settings))
  const child = spawn(NTFY, ['serve', '-c', config], { stdio: 'ignore' })
  await eventually(() => isUp(`${url}/v1/health`), START_LIMIT_MS)
  const tell = (...args: readonly string[]): string => {
    const env = { ...process.env, NTFY_PASSWORD: PASSWORD }
    const [command = '', ...rest] = args
    return execFileSync(NTFY, [command, '-c', config, ...rest], { env, encoding: 'utf8', stdio: 'pipe' })
  }
  tell('user', 'add', 'box')
  tell('access', 'box', 'steeple', 'rw')
  // What it says of a new token goes to standard error.
  const made = execFileSync('sh', ['-c', '"$0" token -c "$1" add box 2>&1', NTFY, config], {
    encoding: 'utf8',
  })
  const authorization = `Bearer ${/tk_[a-z0-9]+/.exec(made)?.[0]}`
  return {
    url,
    authorization,
    shown: async () => {
      const response = await fetch(`${url}/steeple/json?poll=1&since=all`, { headers: { authorization } })
      const lines = (await response.text()).split('\n').filter((line) => line !== '')
      const all = lines.map(
        (line) => JSON.parse(line) as { readonly title: string; readonly message: string },
      )
      return all.map(({ title, message }) => `${title} | ${message}`)
    },
    stop: () => ended(child),
  }
}

/** Synapse with a room, and matrix-webhook in front of it. */
async function startMatrix(folder: string): Promise<ChatServer> {
  const home = 'http://127.0.0.1:8680'
  const python = join(MATRIX, 'bin', 'python')
  const config = join(folder, 'synapse.yaml')
  mkdirSync(folder, { recursive: true })
  const generate = ['--server-name', 'box.test', '--config-path', config, '--report-stats=no']
  execFileSync(python, ['-m', 'synapse.app.homeserver', '--generate-config', ...generate], {
    cwd: folder,
    stdio: 'pipe',
  })
  const listener = { type: 'http', port: 8680, tls: false, bind_addresses: ['127.0.0.1'] }
  const more = join(folder, 'more.yaml')
  writeFileSync(more, JSON.stringify({ listeners: [{ ...listener, resources: [{ names: ['client'] }] }] }))
  const synapse = spawn(python, ['-m', 'synapse.app.homeserver', '-c', config, '-c', more], {
    cwd: folder,
    stdio: 'ignore',
  })
  await eventually(() => isUp(`${home}/_matrix/client/versions`), START_LIMIT_MS)
  for (const user of ['bot', 'ann'])
    execFileSync(
      join(MATRIX, 'bin', 'register_new_matrix_user'),
      ['-u', user, '-p', PASSWORD, '--no-admin', '-c', config, home],
      { stdio: 'pipe' },
    )
  const call = async (method: string, path: string, token: string, body?: object): Promise<object> => {
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    // As the Matrix client-server API has it.
    return (await (await fetch(`${home}/_matrix/client/v3/${path}`, init)).json()) as object
  }
  const login = {
    type: 'm.login.password',
    identifier: { type: 'm.id.user', user: 'ann' },
    password: PASSWORD,
  }
  const token = text(await call('POST', 'login', '', login), 'access_token')
  const room = text(await call('POST', 'createRoom', token, { invite: ['@bot:box.test'] }), 'room_id')
  const key = 'chat-servers-key'
  const hook = spawn(python, ['-m', 'matrix_webhook'], {
    env: {
      ...process.env,
      MATRIX_URL: home,
      MATRIX_ID: '@bot:box.test',
      MATRIX_PW: PASSWORD,
      API_KEY: key,
      HOST: '127.0.0.1',
      PORT: '8681',
    },
    stdio: 'ignore',
  })
  await eventually(() => isUp('http://127.0.0.1:8681/health'), START_LIMIT_MS)
  return {
    url: `http://127.0.0.1:8681/${room}?key=${key}`,
    authorization: '',
    shown: async () => {
      const page = await call('GET', `rooms/${encodeURIComponent(room)}/messages?dir=f&limit=500`, token)
      const { chunk = [] } = page as {
        readonly chunk?: readonly { readonly content: { readonly body?: string } }[]
      }
      return chunk.map(({ content }) => content.body).filter((body) => body !== undefined)
    },
    stop: async () => {
      await ended(hook)
      await ended(synapse)
    },
  }
}

function text(answer: object, key: string): string {
  const found: unknown = Object.entries(answer).find(([name]) => name === key)?.[1]
  if (typeof found === 'string') return found
  throw new Error(`no ${key} in ${JSON.stringify(answer)}`)
}

/** The URL of the first webhook in the documentation's section of that name. */
function documentedUrl(docs: string, section: string): string {
  const part = readFileSync(docs, 'utf8')
    .split(/^### /m)
    .find((one) => one.startsWith(section))
  const url = /^\s+url: "?([^"\s]+)"?$/m.exec(part ?? '')?.[1]
  if (url === undefined) throw new Error(`${docs} names no url below ${section}`)
  return url
}

enterOwnNetwork(import.meta.filename)

const chats = suite('e2e/alerts-chats', { limitMs: 900_000 })
const DOCS = join(ROOT, 'docs/how-to/alerts.md')

/** A service that tells one receiver, whose URL is that of the documentation with another host. */
async function withReceiver(
  server: ChatServer,
  url: string,
  folder: string,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), `${content}\n`, { mode: 0o600 })
    return join(folder, name)
  }
  const webhook = {
    name: 'people',
    url,
    secret_file: file('secret', `whsec_${Buffer.alloc(32, 3).toString('base64')}`),
    allow_private: true,
    ...(server.authorization !== '' && { authorization_file: file('auth', server.authorization) }),
  }
  const rule = { name: 'up', metric: 'process_start_time_seconds', op: '>', threshold: 0, for: '0s' }
  const rules = [{ ...rule, severity: 'critical' }]
  const config = { alerts: { enabled: true, interval: '1s', rules, webhooks: [webhook] } }
  const flags = ['--config', file('control.yaml', JSON.stringify(config))]
  await using service = await startService({ dataDir: join(folder, 'data'), flags })
  await work(service)
  // The rule is taken out: the alert is over.
  file('control.yaml', JSON.stringify({ alerts: { ...config.alerts, rules: [] } }))
  service.child.kill('SIGHUP')
  await patiently(async () => {
    const shown = await server.shown()
    assert.ok(
      shown.some((one) => /Over: up \(process_start_time_seconds\) on /.test(one)),
      shown.join('\n'),
    )
  })
}

async function isShown(server: ChatServer, service: Service): Promise<void> {
  const env = { SVC_URL: service.url, SVC_TOKEN: service.adminToken }
  const tried = await runSvc(['alert', 'test', 'people'], env)
  assert.is(tried.code, 0, tried.stdout + tried.stderr)
  for (const wanted of [/nothing is wrong\.$/, /CRITICAL: up \(process_start_time_seconds\) on /])
    await patiently(async () => {
      const shown = await server.shown()
      assert.ok(
        shown.some((one) => wanted.test(one)),
        shown.join('\n'),
      )
      assert.not.ok(
        shown.some((one) => one.includes('no value')),
        shown.join('\n'),
      )
    })
}

async function tried(
  name: string,
  start: (folder: string) => Promise<ChatServer>,
  urlOf: (server: ChatServer) => string,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), `steeple-chat-${name}-`))
  mkdirSync(join(folder, 'server'))
  const server = await start(join(folder, 'server'))
  try {
    await withReceiver(server, urlOf(server), folder, (service) => isShown(server, service))
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (NTFY === '') process.stdout.write('needs SVC_TEST_NTFY, the program ntfy\n')
else
  chats('show what ntfy is told, by the URL of the documentation', () =>
    tried('ntfy', startNtfy, (server) =>
      documentedUrl(DOCS, 'ntfy').replace('https://ntfy.example.org', server.url),
    ),
  )

if (MATRIX === '') process.stdout.write('needs SVC_TEST_MATRIX, Synapse and matrix-webhook\n')
else chats('show what a room of Matrix is told', () => tried('matrix', startMatrix, ({ url }) => url))

chats.run()
