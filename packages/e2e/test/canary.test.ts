import { createHash, randomBytes, randomInt } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Attempt, misplacedAttempts, typedAttempts } from '../harness/canary/attempts.ts'
import { type Command, everyCommand, knownCommands, offlineCommands } from '../harness/canary/commands.ts'
import { filesOf, type Place, processPlaces } from '../harness/canary/files.ts'
import {
  base64Key,
  bytesNeedle,
  found,
  keyNeedles,
  type Needle,
  textNeedle,
} from '../harness/canary/needles.ts'
import { keyInFile, shownOnce } from '../harness/canary/shown-once.ts'
import { mint } from '../harness/credentials.ts'
import { createClient, type HttpClient } from '../harness/http-client.ts'
import { fetchOpenApi, type Operation, operationsOf } from '../harness/openapi.ts'
import { installVersion } from '../harness/plugins/install-version.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

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

const canary = suite('e2e/canary')

const digits = (count: number): string => Array.from({ length: count }, () => randomInt(10)).join('')
const KI = randomBytes(16).toString('hex')
const OPC = randomBytes(16).toString('hex')
const IMSI = `99999${digits(10)}`
const PASSWORD = `correct-Horse-${randomBytes(12).toString('base64url')}`
const SEALED = `sealed-${randomBytes(18).toString('base64url')}`
const PSK = randomBytes(32).toString('base64')
const TYPED = `typed by someone ${randomBytes(8).toString('hex')}`

/** What the searches go through. */
interface Gathered {
  readonly answers: Place[]
  readonly outputs: Place[]
  events: string
}

let dataDir: string
let workDir: string
let service: Service
let client: HttpClient
let operations: readonly Operation[] = []
let secrets: Needle[] = []
const misplaced: readonly Needle[] = [textNeedle('the password', PASSWORD)]
const typed: readonly Needle[] = [textNeedle('the typed text', TYPED)]
const gathered: Gathered = { answers: [], outputs: [], events: '' }
const commands: Command[] = []
/** Of the cards that the service drew. */
const iccids: string[] = []

canary.before(
  async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'steeple-canary-'))
    workDir = mkdtempSync(join(tmpdir(), 'steeple-canary-work-'))
    const code = 'export const plugin = { setup: async () => ({ routes: [] }) }\n'
    const schema = {
      properties: {
        apart: { properties: { api_key: { type: 'string', default: '', 'x-secret': true } } },
      },
    }
    installVersion(dataDir, {
      id: 'apart',
      version: '1.0.0',
      code,
      schema,
    })
    service = await startService({
      dataDir,
      flags: ['--log-level', 'debug'],
      env: { SVC_HSS_DRIVER: 'none', SVC_PEERING_INTERFACE: 'svccanary0' },
    })
    client = createClient(service.url, 8)
    operations = operationsOf(await fetchOpenApi(service.url))
    followEvents(service)
    secrets = [
      textNeedle('the admin token', service.adminToken),
      textNeedle('the secret of a plugin', SEALED),
      ...base64Key('a preshared key', PSK),
      textNeedle('Ki', KI),
      bytesNeedle('Ki, the bytes', Buffer.from(KI, 'hex')),
      textNeedle('OPc', OPC),
      bytesNeedle('OPc, the bytes', Buffer.from(OPC, 'hex')),
      textNeedle('the IMSI', IMSI),
      ...keyNeedles(join(dataDir, 'keys')),
    ]
    await importCard()
    await issueCards()
    await findCards()
    await typeEverywhere()
    await linkBoxes()
  },
  { limitMs: 360_000 },
)

canary.after(async () => {
  client.close()
  if (service.child.exitCode === null) await service.kill()
  for (const dir of [dataDir, workDir]) rmSync(dir, { recursive: true, force: true })
})

canary(
  'drives secrets, misplaced and typed texts through every route',
  async () => {
    const tokens = await everyToken()
    secrets.push(...tokens.map(({ name, token }) => textNeedle(name, token)))
    const admin = `Bearer ${service.adminToken}`
    const texts = [PASSWORD, service.adminToken, KI, OPC, IMSI, ...tokens.map(({ token }) => token)]
    const attempts = operations.flatMap((operation) => [
      ...texts.flatMap((text) => misplacedAttempts(operation, text, admin)),
      ...typedAttempts(operation, TYPED, admin),
      ...tokens.map(({ token }) => asRequestId(operation, token, admin)),
      ...ordinaryAttempts(
        operation,
        tokens.map(({ token }) => token),
      ),
    ])
    const queue = attempts.values()
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (const attempt of queue) await make(attempt)
      }),
    )
    await strayAttempts(texts)
    process.stdout.write(`\n# ${attempts.length} requests over ${operations.length} operations\n`)
    assert.is((await service.request('GET', '/v1/healthz')).status, 200)
  },
  { limitMs: 360_000 },
)

canary(
  'drives them through every command',
  async () => {
    const world = await commandWorld()
    const made = await mint(service, { name: 'for the commands', roles: ['admin'] })
    secrets.push(textNeedle('the token of the commands', made.token))
    commands.push(...everyCommand(world))
    const env = { SVC_URL: service.url, SVC_TOKEN: made.token, HOME: workDir }
    for (const isJson of [false, true]) {
      for (const command of commands) await run(command, isJson ? ['--json'] : [], env)
    }
    for (const args of wrongCalls())
      await run({ name: `wrong: ${args[0]}`, args }, [], { SVC_URL: service.url })
    for (const SVC_TOKEN of [PASSWORD, `two words ${PASSWORD}`, `svc_${PASSWORD}`]) {
      await run({ name: 'status with a wrong token', args: ['status'] }, [], {
        SVC_URL: service.url,
        SVC_TOKEN,
      })
    }
  },
  { limitMs: 360_000 },
)

canary(
  'finds none of them in what answers said',
  async () => {
    assert.equal(whereFound([...secrets, ...misplaced], gathered.answers), [])
    // The search takes long: connections that the service has closed meanwhile are noticed before one is used.
    for (let turn = 0; turn < 3; turn += 1) await nextTurn()
  },
  { limitMs: 360_000 },
)

canary(
  'finds none of them in metrics, document, audit trail and events',
  async () => {
    for (const path of ['/metrics', '/v1/openapi.json', '/v1/docs', '/v1/plugins', '/v1/version']) {
      const text = await textOf(path)
      assert.equal(found([...secrets, ...misplaced, ...typed], Buffer.from(text)), [], path)
    }
    const lists = ['/v1/audit', '/v1/tokens', '/v1/nodes', '/v1/sims']
    for (const path of lists) {
      const pages = Buffer.from(await everyPage(path))
      assert.equal(found([...secrets, ...misplaced], pages), [], path)
    }
    for (const path of ['/v1/status', '/v1/health', '/v1/policy', '/v1/tx/arm', '/v1/sims/export']) {
      assert.equal(found([...secrets, ...misplaced], Buffer.from(await textOf(path))), [], path)
    }
    assert.ok(gathered.events.includes('event: '), 'no event came')
    assert.equal(found([...secrets, ...misplaced], Buffer.from(gathered.events)), [], '/v1/events')
    // The search itself is tried on what must be there.
    assert.equal(found(typed, Buffer.from(await everyPage('/v1/tokens'))), ['the typed text'])
  },
  { limitMs: 360_000 },
)

canary('finds none of them in the process list, and the admin token alone in the environment', async () => {
  const pid = service.child.pid
  assert.ok(pid !== undefined)
  await eventually(() => assert.is(processPlaces(pid).commandLines.length, 1))
  const { commandLines, environments } = processPlaces(pid)
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
    const world = await commandWorld(false)
    for (const command of offlineCommands(world)) await run(command, [], {})
    secrets.push(...keyNeedles(join(dataDir, 'keys')))
    searchFiles('rotated')
  },
  { limitMs: 360_000 },
)

canary(
  'finds none of them in what the service and its commands printed',
  () => {
    const log = Buffer.from(service.output())
    assert.ok(log.length > 100_000, 'the log is at debug level')
    const lines = service.output().split('\n')
    const said = lines.map((line) => ({
      name: /"msg":"([^"]*)"/.exec(line)?.[1] ?? line,
      content: Buffer.from(line),
    }))
    assert.equal(whereFound([...secrets, ...misplaced, ...typed], said), [])
    assert.equal(whereFound([...secrets, ...misplaced], gathered.outputs), [])
    process.stdout.write(
      `\n# ${secrets.length} secrets in ${[...secrets].reduce((sum, { forms }) => sum + forms.length, 0)} forms: ` +
        `${gathered.answers.length} answers, ${gathered.outputs.length} commands, ${(log.length / 2 ** 20).toFixed(1)} MiB of log\n`,
    )
  },
  { limitMs: 360_000 },
)

canary(
  'left out no command',
  async () => {
    const called = new Set(
      [...commands, ...offlineCommands(await commandWorld(false))].map(({ name }) => name),
    )
    assert.equal(
      (await knownCommands()).filter((name) => !called.has(name)),
      [],
    )
  },
  { limitMs: 360_000 },
)

canary.run()

interface NamedToken {
  readonly name: string
  readonly token: string
}

async function everyToken(): Promise<readonly NamedToken[]> {
  const live = await mint(service, { name: 'live', roles: ['viewer'] })
  const expired = await mint(service, { name: 'expired', roles: ['admin'], expires_in: '1ms' })
  const deleted = await mint(service, { name: 'deleted', roles: ['admin'] })
  const bootstrap = await mint(service, { name: 'bootstrap', kind: 'bootstrap' })
  await service.request('DELETE', `/v1/tokens/${deleted.id}`)
  // Shown once more, to whoever repeats the request that made it; kept sealed.
  const body = { name: 'repeated', roles: ['viewer'] }
  const headers = { 'idempotency-key': PASSWORD }
  const first = await service.request('POST', '/v1/tokens', { body, headers })
  const second = await service.request('POST', '/v1/tokens', { body, headers })
  assert.is(second.body.token, first.body.token)
  return [
    { name: 'a live token', token: live.token },
    { name: 'an expired token', token: expired.token },
    { name: 'a deleted token', token: deleted.token },
    { name: 'a bootstrap token', token: bootstrap.token },
    { name: 'a repeated token', token: first.body.token },
  ]
}

/** A card whose secrets are known: as JSON, again (it exists then), and in rows that are refused. */
async function importCard(): Promise<void> {
  const card = { imsi: IMSI, ki: KI, opc: OPC, label: TYPED }
  const path = '/v1/sims/import'
  const first = await service.request('POST', path, { body: { sims: [card] } })
  assert.is(first.body.imported, 1, JSON.stringify(first.body))
  const refused = [
    { ...card, ki: `${KI}00` },
    { ...card, imsi: `${IMSI}0`, opc: undefined },
    { ...card, imsi: `12345${IMSI.slice(5)}` },
    { ...card, [KI]: 1 },
    KI,
    [IMSI],
  ]
  const again = await service.request('POST', path, { body: { sims: [card, ...refused] } })
  keep(`POST ${path}`, JSON.stringify([first.body, again.body]))
  const csv = `imsi,ki,opc,label\n${IMSI},${KI},${OPC},x\n${IMSI},${KI}\n"${KI},${IMSI}\n`
  const answer = await service.request('POST', path, { body: csv, headers: { 'content-type': 'text/csv' } })
  keep(`POST ${path} as CSV`, JSON.stringify(answer.body))
}

/** Cards whose secrets the service draws; the one command that unseals them tells this test what to look for. */
async function issueCards(): Promise<void> {
  const { body } = await service.request('POST', '/v1/sims', { body: { count: 3, label: TYPED } })
  const args = ['sim', 'export', body.batch_id, '--data-dir', dataDir, '--format', 'json']
  const { code, stdout, stderr } = await runSvc(args)
  assert.is(code, 0, stderr)
  const cards: readonly Readonly<Record<string, string>>[] = JSON.parse(stdout)
  assert.is(cards.length, 3)
  for (const card of cards) {
    for (const name of ['imsi', 'iccid', 'ki', 'opc']) {
      const value = card[name] ?? ''
      assert.ok(value.length >= 15, name)
      secrets.push(textNeedle(`the ${name} of an issued card`, value))
      if (name === 'iccid') iccids.push(value)
      const isKey = value.length === 32
      if (isKey)
        secrets.push(bytesNeedle(`the ${name} of an issued card, the bytes`, Buffer.from(value, 'hex')))
    }
  }
  // The search itself is tried on what must be there.
  const drawn = secrets.filter(({ name }) => name.endsWith('of an issued card'))
  assert.is(found(drawn, Buffer.from(stdout)).length, drawn.length)
  gathered.outputs.push({ name: 'svc sim export, on standard error', content: Buffer.from(stderr) })
}

/** Every whole identifier is asked for where it belongs, beside others, and where it does not. */
async function findCards(): Promise<void> {
  const path = '/v1/sims/find'
  const others = [{ imsi: `${IMSI}0` }, { iccid: IMSI }, { imsi: IMSI, [IMSI.slice(1)]: 1 }, { imsi: [IMSI] }]
  const first = await service.request('POST', path, { body: { imsi: IMSI } })
  assert.is(first.body.sims?.length, 1, JSON.stringify(first.body))
  keep(`POST ${path}`, JSON.stringify(first.body))
  for (const iccid of iccids) {
    const answer = await service.request('POST', path, { body: { iccid } })
    assert.is(answer.body.sims?.length, 1, JSON.stringify(answer.body))
    keep(`POST ${path} by ICCID`, JSON.stringify(answer.body))
  }
  // What names an unknown property goes back to whoever sent it.
  for (const body of others) assert.is((await service.request('POST', path, { body })).status, 400)
  for (const q of [IMSI, ...iccids]) {
    const answer = await service.request('GET', `/v1/sims?q=${q}`)
    assert.is(answer.status, 400)
    keep('GET /v1/sims with it in q', JSON.stringify(answer.body))
  }
}

/** A text in the fields that people fill in, where it is kept. */
async function typeEverywhere(): Promise<void> {
  const [node] = (await service.request('GET', '/v1/nodes')).body.nodes
  const component = { name: 'agent', status: 'ok', detail: TYPED }
  const at = new Date().toISOString()
  const changes: readonly (readonly [method: string, path: string, body: object])[] = [
    ['POST', '/v1/tokens', { name: TYPED, roles: ['viewer'] }],
    ['POST', '/v1/tokens', { name: TYPED, kind: 'bootstrap', node_name: TYPED }],
    ['PUT', '/v1/policy', { spectrum: { license: { acknowledged: true, reference: TYPED, holder: TYPED } } }],
    [
      'POST',
      '/v1/telemetry',
      { node_id: node.node_id, at, seq: 1, components: [component], versions: { os: TYPED } },
    ],
    ['POST', '/v1/sims', { label: TYPED, profile: TYPED }],
  ]
  for (const [method, path, body] of changes) {
    const answer = await service.request(method, path, { body })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    if (path === '/v1/tokens') secrets.push(textNeedle('a token with a typed name', answer.body.token))
  }
}

/** A peer with a preshared key, and one in place of every other text of a peer that is refused; a key that is to come. */
async function linkBoxes(): Promise<void> {
  const peer = {
    name: 'linked',
    endpoint: 'wg://192.0.2.9:51820',
    public_key: `${'B'.repeat(42)}A=`,
    routes: [],
  }
  const path = '/v1/peers'
  const first = await service.request('POST', path, { body: { ...peer, preshared_key: PSK } })
  assert.is(first.status, 201, JSON.stringify(first.body))
  const again = await service.request('POST', path, { body: { ...peer, preshared_key: PSK } })
  const wrong = await service.request('POST', path, { body: { ...peer, preshared_key: `${PSK}0` } })
  const rotated = await service.request('POST', `${path}/rotate`, { body: {} })
  assert.is(rotated.status, 200, JSON.stringify(rotated.body))
  for (const { body } of [first, again, wrong, rotated]) keep(`POST ${path}`, JSON.stringify(body))
  const { id } = first.body
  const record = async () => (await service.request('GET', `${path}/${id}`)).body
  // It is on the interface then, or the machine allows none.
  await eventually(async () => {
    const { problem } = (await service.request('GET', `${path}/self`)).body
    assert.ok(problem !== null || (await record()).last_endpoint !== null)
  })
  keep(`GET ${path}`, JSON.stringify(await record()))
  assert.is((await service.request('DELETE', `${path}/${id}`)).status, 204)
  // The same name may be another key's by now.
  const known = new Set(secrets.map(({ forms }) => String(forms[0])))
  secrets.push(...keyNeedles(join(dataDir, 'keys')).filter(({ forms }) => !known.has(String(forms[0]))))
}

/** What an operation answers to each kind of credential, a bootstrap token and an expired token among them. */
function ordinaryAttempts(operation: Operation, tokens: readonly string[]): readonly Attempt[] {
  const path = operation.path.replaceAll(/\{[^}]+\}/g, 'ffffffffffff')
  return tokens.map((token) => ({
    place: 'its own credential',
    mayEcho: false,
    sent: { method: operation.method, path, headers: { authorization: `Bearer ${token}` } },
  }))
}

function asRequestId(operation: Operation, token: string, authorization: string): Attempt {
  const path = operation.path.replaceAll(/\{[^}]+\}/g, 'ffffffffffff')
  const headers = { authorization, 'x-request-id': token }
  return { place: 'request id', mayEcho: false, sent: { method: operation.method, path, headers } }
}

async function make({ sent, place, mayEcho }: Attempt): Promise<void> {
  const { status, headers, body } = await client.send(sent)
  const name = `${sent.method} ${sent.path.split('?')[0]?.slice(0, 60)} with it in ${place}: ${status}`
  assert.ok(status < 500, name)
  const isNewToken = status === 201 && sent.path.startsWith('/v1/tokens')
  if (isNewToken) secrets.push(textNeedle('a token made on the way', JSON.parse(body.toString()).token))
  if (mayEcho || isNewToken || headers['content-type']?.startsWith('text/event-stream')) return
  // The page's own files are as they were built.
  if (sent.path.startsWith('/v1/docs/')) return
  keep(name, `${JSON.stringify(headers)}\n${body}`)
}

/** Paths and methods that nobody serves, with the text in them, and what is not HTTP. */
async function strayAttempts(texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    const part = encodeURIComponent(text)
    for (const path of [
      `/${part}`,
      `/v1/${part}`,
      `/v1/sims/${part}`,
      `/v1/tokens/x/${part}`,
      `/v1/status/%zz${part}`,
    ]) {
      for (const method of ['GET', 'POST', 'PATCH', 'OPTIONS']) {
        const authorization = `Bearer ${service.adminToken}`
        await make({
          place: 'a stray path',
          mayEcho: true,
          sent: { method, path, headers: { authorization } },
        })
      }
    }
  }
}

async function commandWorld(isRunning = true): Promise<Parameters<typeof everyCommand>[0]> {
  const configFile = join(workDir, 'control.yaml')
  const importFile = join(workDir, 'cards.csv')
  mkdirSync(workDir, { recursive: true })
  const lines = [
    `store:\n  url: postgres://svc:${PASSWORD}@127.0.0.1/svc`,
    `hss:\n  mongo_url: mongodb://svc:${PASSWORD}@127.0.0.1/open5gs`,
    `auth:\n  admin_token_env: ${PASSWORD}\n  password: ${PASSWORD}\n  token: ${PASSWORD}`,
    `alerts:\n  webhooks:\n    - {url: "https://u:${PASSWORD}@example.org/", secret: ${PASSWORD}}`,
  ]
  writeFileSync(configFile, `${lines.join('\n')}\n`)
  writeFileSync(importFile, `imsi,ki,opc,label\n${IMSI},${KI},${OPC},x\n${IMSI},${KI}1,${OPC},x\n`)
  const hash = createHash('sha256').update(IMSI).digest('hex').slice(0, 12)
  const tokenId = isRunning ? (await mint(service, { name: 'to be revoked', roles: ['viewer'] })).id : 'none'
  return {
    dataDir,
    workDir,
    tokenId,
    simHash: hash,
    imsi: IMSI,
    configFile,
    importFile,
    sealed: SEALED,
    password: PASSWORD,
  }
}

/** Calls that fail before or at the service, with a password in what is given. */
function wrongCalls(): readonly (readonly string[])[] {
  return [
    ['status', '--url', `http://svc:${PASSWORD}@127.0.0.1:1`],
    ['status', '--token', `two words ${PASSWORD}`],
    ['status', '--token', PASSWORD],
    ['status', '--token-file', join(workDir, 'cards.csv')],
    ['token', 'create', 'x', '--role', 'viewer', '--token', PASSWORD],
    ['policy', 'set', '--file', join(workDir, 'control.yaml'), '--token', PASSWORD],
    ['--config', join(workDir, 'control.yaml')],
    ['doctor', '--config', join(workDir, 'control.yaml')],
    ['vault', 'rotate', '--config', join(workDir, 'control.yaml')],
  ]
}

async function run(
  { name, args, input }: Command,
  more: readonly string[],
  env: Record<string, string>,
): Promise<void> {
  const { code, stdout, stderr } = await runSvc([...args, ...more], env, input)
  assert.ok(code !== null && code <= 2, `${name}: ${code}`)
  // Shown once, there.
  const shown = code === 0 ? shownOnce(name, stdout) : undefined
  if (shown !== undefined) secrets.push(...shown)
  if (name === 'user cert') secrets.push(...keyInFile(join(workDir, 'canary.key')))
  gathered.outputs.push({
    name: `svc ${name}`,
    content: Buffer.from(shown === undefined ? stdout + stderr : stderr),
  })
}

function searchFiles(when: string): void {
  const files = filesOf(dataDir, ['keys'])
  for (const { name, content } of files) {
    assert.equal(found([...secrets, ...misplaced], content), [], `${name}, ${when}`)
  }
  const store = files.filter(({ name }) => name.startsWith('svc.db'))
  // The search itself is tried on what must be there.
  assert.ok(
    store.some(({ content }) => found(typed, content).length === 1),
    `the store, ${when}`,
  )
}

function keep(name: string, text: string): void {
  gathered.answers.push({ name, content: Buffer.from(text) })
}

async function textOf(path: string): Promise<string> {
  const { body } = await service.request('GET', path)
  return typeof body === 'string' ? body : JSON.stringify(body)
}

async function everyPage(path: string): Promise<string> {
  let text = ''
  let cursor = ''
  do {
    const { status, body } = await service.request('GET', `${path}?limit=500${cursor}`)
    assert.is(status, 200, path)
    text += JSON.stringify(body)
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
  } while (cursor !== '')
  return text
}

/** Gathers the event stream until the service ends it. */
function followEvents(of: Service): void {
  const read = async (): Promise<void> => {
    const { body } = await fetch(`${of.url}/v1/events`, {
      headers: { authorization: `Bearer ${of.adminToken}` },
    })
    const decoder = new TextDecoder()
    for await (const chunk of body ?? []) gathered.events += decoder.decode(chunk, { stream: true })
  }
  // It ends with the service.
  read().catch(() => undefined)
}

/** What was found where, at most ten places. All places are searched as one text first: there are many. */
function whereFound(needles: readonly Needle[], places: readonly Place[]): readonly string[] {
  const names = found(needles, Buffer.concat(places.flatMap(({ content }) => [content, Buffer.from('\n')])))
  const hit = needles.filter(({ name }) => names.includes(name))
  return places
    .flatMap(({ name, content }) => found(hit, content).map((what) => `${what} in ${name}`))
    .filter((line, index, all) => all.indexOf(line) === index)
    .slice(0, 10)
}
