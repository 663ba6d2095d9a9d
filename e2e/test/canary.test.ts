import { createPrivateKey } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { assert, eventually, suite } from '@steeple/testkit'
import {
  type Attempt,
  misplacedAttempts,
  strayAttempts,
  tokenAttempts,
  typedAttempts,
} from '../harness/canary/attempts.ts'
import {
  type Command,
  commandWorld,
  everyCommand,
  knownCommands,
  offlineCommands,
  wrongCalls,
} from '../harness/canary/commands.ts'
import { filesOf, processPlaces } from '../harness/canary/files.ts'
import {
  bytesNeedle,
  found,
  keyNeedles,
  type Needle,
  searchFor,
  textNeedle,
} from '../harness/canary/needles.ts'
import { everyToken, fillWithSecrets, keep, personWithSecrets, type Scene } from '../harness/canary/scene.ts'
import { everyPage, followEvents, textOf, whereFound } from '../harness/canary/search.ts'
import { drawTexts, needlesOf } from '../harness/canary/secret-texts.ts'
import { mint } from '../harness/credentials.ts'
import { createClient, type HttpClient } from '../harness/http-client.ts'
import { fetchOpenApi, type Operation, operationsOf } from '../harness/openapi.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

const RECOVERY_CODE = /\b([a-z2-7]{4}(?:-[a-z2-7]{4}){3})\b/g

/** The commands whose standard output shows a credential, once, and what it looks like there, as text and as JSON. */
const SHOWN: Readonly<Record<string, readonly RegExp[]>> = {
  'token create': [/(svcb?_[A-Za-z0-9_-]{43,})/g],
  console: [/(svcl_[A-Za-z0-9_-]{43})/g],
  'mesh invite': [/(svcb_[0-9a-f]{32}_[A-Za-z0-9_-]{43,})/g],
  'recovery replace': [RECOVERY_CODE],
  'user add': personal(),
  'user reset': personal(),
  'user invite': [/(svci_[A-Za-z0-9_-]{43})/g],
  'user cert': [/passphrase"?:?\s+"?([A-Za-z0-9_-]{20})/g],
}

/** Password, secret of the authenticator, recovery codes. */
function personal(): readonly RegExp[] {
  return [/Password"?:?\s+"?([a-z0-9-]{12,})/gi, /secret=([A-Z2-7]{16,})/g, RECOVERY_CODE]
}

/**
 * What a command has shown of credentials; undefined when it is none of those that may show any. Throws when it shows
 * less than it should: then the search would be for nothing.
 */
function shownOnce(name: string, stdout: string): readonly Needle[] | undefined {
  const patterns = SHOWN[name]
  return patterns?.flatMap((pattern) => {
    const texts = [...stdout.matchAll(pattern)].map(([, text = '']) => text)
    if (texts.length === 0) throw new Error(`svc ${name} shows nothing like ${pattern}`)
    return texts.map((text) => textNeedle(`what svc ${name} has shown`, text))
  })
}

/** The private key in a file that a command has made; none when it has made none. */
function keyInFile(file: string): readonly Needle[] {
  if (!existsSync(file)) return []
  const { d } = createPrivateKey(readFileSync(file)).export({ format: 'jwk' })
  return [bytesNeedle('the key of a client certificate', Buffer.from(String(d), 'base64url'))]
}

/*
 * What is searched, and why.
 *
 * - Secrets: the box's own credentials (admin token, scoped and bootstrap tokens, live, expired and deleted ones), its
 *   keys (vault, JWT, audit, mesh CA, node; before and after a rotation), and the secrets of subscribers (IMSI, Ki, OPc,
 *   card codes). They may be nowhere: no log line, no file of the data directory but keys/, no audit entry, no metric, no
 *   event, no answer but the one that shows a new token (and its repetition under an Idempotency-Key), no output of a
 *   command but of those of `SHOWN` and `sim export`, no command line, no environment but SVC_ADMIN_TOKEN.
 * - Misplaced: a password of someone, put into every place that does not ask for one: credentials of any scheme, query,
 *   headers, Idempotency-Key, bodies that are refused. Searched in the same places. An answer may name the path, media
 *   type or If-Match that it refuses: they go back to whoever sent them and nowhere else.
 * - Typed: a text typed into a field that takes it (a label, a name). It is data: stored, listed, in the audit trail.
 *   It is searched in logs, metrics, command lines and the document, which hold no data of people.
 *
 * Everything is searched as it is, in hex and in base64 at any offset; long texts by halves too. A request id is the
 * client's own word and is in every log line by contract, but for what has the form of a token of ours.
 */

const canary = suite('e2e/canary', { limitMs: 1_200_000 })
const TEXTS = drawTexts()
/** For commands that nobody has to be logged in for. */
const NOBODY = { token: '', password: '', recovery_codes: [] }

let dataDir: string
let workDir: string
let service: Service
let client: HttpClient
let scene: Scene
let events: () => string
let operations: readonly Operation[] = []
const secrets: Needle[] = []
const misplaced: readonly Needle[] = [textNeedle('the password', TEXTS.password)]
const typed: readonly Needle[] = [textNeedle('the typed text', TEXTS.typed)]
const commands: Command[] = []

canary.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'steeple-canary-'))
  workDir = mkdtempSync(join(tmpdir(), 'steeple-canary-work-'))
  const code = 'export const plugin = { setup: async () => ({ routes: [] }) }\n'
  const apart = { properties: { api_key: { type: 'string', default: '', 'x-secret': true } } }
  installVersion(dataDir, { id: 'apart', version: '1.0.0', code, schema: { properties: { apart } } })
  const config = join(workDir, 'control.yaml')
  writeFileSync(config, '')
  service = await startService({
    dataDir,
    // A configuration of its own: that of the machine is not for tests to write.
    flags: ['--log-level', 'debug', '--config', config],
    env: { SVC_HSS_DRIVER: 'none', SVC_PEERING_INTERFACE: 'svccanary0' },
  })
  client = createClient(service.url, 8)
  operations = operationsOf(await fetchOpenApi(service.url))
  events = await followEvents(service)
  secrets.push(
    textNeedle('the admin token', service.adminToken),
    ...needlesOf(TEXTS),
    ...keyNeedles(join(dataDir, 'keys')),
  )
  scene = { service, dataDir, texts: TEXTS, secrets, answers: [], outputs: [] }
  await fillWithSecrets(scene)
})

canary.after(async () => {
  client.close()
  if (service.child.exitCode === null) await service.kill()
  for (const dir of [dataDir, workDir]) rmSync(dir, { recursive: true, force: true })
})

canary('drives secrets, misplaced and typed texts through every route', async () => {
  const tokens = await everyToken(scene)
  secrets.push(...tokens.map(({ name, token }) => textNeedle(name, token)))
  const admin = `Bearer ${service.adminToken}`
  const whole = tokens.map(({ token }) => token)
  const { password, ki, opc, imsi } = TEXTS
  const texts = [password, service.adminToken, ki, opc, imsi, ...whole]
  const attempts = operations.flatMap((operation, turn) => [
    ...misplacedAttempts(operation, texts, admin, turn),
    ...typedAttempts(operation, TEXTS.typed, admin),
    ...tokenAttempts(operation, whole, admin),
  ])
  const queue = attempts.values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const attempt of queue) await make(attempt)
    }),
  )
  for (const text of texts) for (const attempt of strayAttempts(text, admin)) await make(attempt)
  process.stdout.write(`\n# ${attempts.length} requests over ${operations.length} operations\n`)
  assert.is((await service.request('GET', '/v1/healthz')).status, 200)
})

canary('drives them through every command', async () => {
  const { id } = await mint(service, { name: 'to be revoked', roles: ['viewer'] })
  const person = await personWithSecrets(scene)
  const world = commandWorld(scene, workDir, id, person)
  const made = await mint(service, { name: 'for the commands', roles: ['admin'] })
  secrets.push(textNeedle('the token of the commands', made.token))
  commands.push(...everyCommand(world))
  const env = { SVC_URL: service.url, SVC_TOKEN: made.token, HOME: workDir }
  for (const isJson of [false, true]) {
    for (const command of commands) await run(command, isJson ? ['--json'] : [], env)
  }
  for (const args of wrongCalls(world))
    await run({ name: `wrong: ${args[0]}`, args }, [], { SVC_URL: service.url })
  for (const SVC_TOKEN of [TEXTS.password, `two words ${TEXTS.password}`, `svc_${TEXTS.password}`]) {
    await run({ name: 'status with a wrong token', args: ['status'] }, [], {
      SVC_URL: service.url,
      SVC_TOKEN,
    })
  }
})

canary('would find each of them, in every form and wherever it stands', () => {
  const forms = [...secrets, ...misplaced, ...typed].flatMap((needle) => needle.forms)
  const search = searchFor(forms)
  for (let before = 0; before < 16; before += 1)
    for (const form of forms)
      assert.ok(search(Buffer.concat([Buffer.alloc(before), form, Buffer.from('.')])).has(form))
})

canary('finds none of them in what answers said', async () => {
  assert.equal(whereFound([...secrets, ...misplaced], scene.answers), [])
  // The search takes long: connections that the service has closed meanwhile are noticed before one is used.
  for (let turn = 0; turn < 3; turn += 1) await nextTurn()
})

canary('finds none of them in metrics, document, audit trail and events', async () => {
  for (const path of ['/metrics', '/v1/openapi.json', '/v1/docs', '/v1/plugins', '/v1/version']) {
    const text = await textOf(service, path)
    assert.equal(found([...secrets, ...misplaced, ...typed], Buffer.from(text)), [], path)
  }
  const lists = ['/v1/audit', '/v1/tokens', '/v1/nodes', '/v1/sims']
  for (const path of lists) {
    const pages = Buffer.from(await everyPage(service, path))
    assert.equal(found([...secrets, ...misplaced], pages), [], path)
  }
  for (const path of ['/v1/status', '/v1/health', '/v1/policy', '/v1/tx/arm', '/v1/sims/export']) {
    assert.equal(found([...secrets, ...misplaced], Buffer.from(await textOf(service, path))), [], path)
  }
  await eventually(() => assert.ok(events().includes('event: '), 'no event came'))
  assert.equal(found([...secrets, ...misplaced], Buffer.from(events())), [], '/v1/events')
  // The search itself is tried on what must be there.
  assert.equal(found(typed, Buffer.from(await everyPage(service, '/v1/tokens'))), ['the typed text'])
})

canary('finds none of them in a backup without a passphrase', async () => {
  const headers = { authorization: `Bearer ${service.adminToken}` }
  const { status, body } = await client.send({ method: 'GET', path: '/v1/backup', headers })
  assert.is(status, 200)
  const archive = gunzipSync(body)
  assert.ok(archive.includes('SQLite format 3'), 'the store is in it, as it is')
  assert.equal(found([...secrets, ...misplaced], archive), [])
  // The search itself is tried on what must be there.
  assert.equal(found(typed, archive), ['the typed text'])
})

canary('finds none of them in a support bundle, nor what somebody typed', async () => {
  const headers = { authorization: `Bearer ${service.adminToken}` }
  const { status, body } = await client.send({ method: 'GET', path: '/v1/support/bundle', headers })
  assert.is(status, 200)
  const archive = gunzipSync(body)
  assert.equal(found([...secrets, ...misplaced, ...typed], archive), [])
  for (const name of ['config.json', 'log.jsonl', 'metrics.txt', 'health.json', 'manifest.json'])
    assert.ok(archive.includes(`svc-support/${name}`), name)
  assert.ok(archive.includes('"failed": {}'), 'all of it could be made')
  assert.ok(archive.includes('"msg":"request"'), 'the log is in it')
})

canary('finds none of them in the process list, and the admin token alone in the environment', async () => {
  const pid = service.child.pid
  assert.ok(pid !== undefined)
  // Helpers of a moment, `wg` and `ip`, are as the service before they are themselves.
  const { commandLines, environments } = await eventually(() => {
    const places = processPlaces(pid)
    assert.equal([places.commandLines.length, places.environments.length], [1, 1])
    return places
  })
  for (const { name, content } of commandLines) {
    assert.equal(found([...secrets, ...misplaced, ...typed], content), [], name)
  }
  const [own] = environments
  assert.ok(own !== undefined)
  assert.equal(found(secrets, own.content), ['the admin token'])
  const variables = own.content
    .toString()
    .split('\0')
    .filter((pair) => pair.includes(service.adminToken))
  assert.equal(variables, [`SVC_ADMIN_TOKEN=${service.adminToken}`])
})

canary(
  'finds none of them in the data directory while it runs, after it has stopped and after the keys were rotated',
  async () => {
    searchFiles('running')
    const code = await service.stop()
    assert.is(code, 0)
    searchFiles('stopped')
    const world = commandWorld(scene, workDir, 'none', NOBODY)
    for (const command of offlineCommands(world)) await run(command, [], {})
    secrets.push(...keyNeedles(join(dataDir, 'keys')))
    searchFiles('rotated')
  },
)

canary('finds none of them in what the service and its commands printed', () => {
  const log = Buffer.from(service.output())
  assert.ok(log.length > 100_000, 'the log is at debug level')
  const lines = service.output().split('\n')
  const said = lines.map((line) => ({
    name: /"msg":"([^"]*)"/.exec(line)?.[1] ?? line,
    content: Buffer.from(line),
  }))
  assert.equal(whereFound([...secrets, ...misplaced, ...typed], said), [])
  assert.equal(whereFound([...secrets, ...misplaced], scene.outputs), [])
  process.stdout.write(
    `\n# ${secrets.length} secrets in ${[...secrets].reduce((sum, { forms }) => sum + forms.length, 0)} forms: ` +
      `${scene.answers.length} answers, ${scene.outputs.length} commands, ${(log.length / 2 ** 20).toFixed(1)} MiB of log\n`,
  )
})

canary('left out no command', async () => {
  const offline = offlineCommands(commandWorld(scene, workDir, 'none', NOBODY))
  // `svc lab` starts a service and a lab core: first-start.test. `svc serve` is the service that all of this asks.
  const called = new Set(['lab', 'serve', ...[...commands, ...offline].map(({ name }) => name)])
  assert.equal(
    (await knownCommands()).filter((name) => !called.has(name)),
    [],
  )
})

canary.run()

async function make({ sent, place, mayEcho }: Attempt): Promise<void> {
  const { status, headers, body } = await client.send(sent)
  const name = `${sent.method} ${sent.path.split('?')[0]?.slice(0, 60)} with it in ${place}: ${status}`
  assert.ok(status < 500, name)
  const isNewToken = status === 201 && sent.path.startsWith('/v1/tokens')
  if (isNewToken) secrets.push(textNeedle('a token made on the way', JSON.parse(body.toString()).token))
  if (mayEcho || isNewToken || headers['content-type']?.startsWith('text/event-stream')) return
  // A test of its own looks into a backup: packed, it shows nothing of what is in it.
  if (/^\/v1\/(backup|support)/.test(sent.path) && status === 200) return
  keep(scene, name, `${JSON.stringify(headers)}\n${body}`)
}

async function run(
  { name, args, input, token }: Command,
  more: readonly string[],
  env: Record<string, string>,
): Promise<void> {
  const { code, stdout, stderr } = await runSvc(
    [...args, ...more],
    { ...env, ...(token === undefined ? {} : { SVC_TOKEN: token }) },
    input,
  )
  assert.ok(code !== null && code <= 2, `${name}: ${code}`)
  // Shown once, there.
  const shown = code === 0 ? shownOnce(name, stdout) : undefined
  if (shown !== undefined) secrets.push(...shown)
  if (name === 'user cert') secrets.push(...keyInFile(join(workDir, 'canary.key')))
  scene.outputs.push({
    name: `svc ${name}`,
    content: Buffer.from(shown === undefined ? stdout + stderr : stderr),
  })
}

function searchFiles(when: string): void {
  const files = filesOf(dataDir, ['keys'])
  assert.equal(whereFound([...secrets, ...misplaced], files), [], when)
  const store = files.filter(({ name }) => name.startsWith('svc.db'))
  // The search itself is tried on what must be there.
  assert.ok(
    store.some(({ content }) => found(typed, content).length === 1),
    `the store, ${when}`,
  )
}
