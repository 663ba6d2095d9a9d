import { spawn } from 'node:child_process'
import { cpuMs, fakeClock, suite } from '@steeple/testkit'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { consoleLine, createLog, type KernelLog, type LogOptions } from '../../src/telemetry/log.ts'
import { redactFacts, scrubText } from '../../src/telemetry/log-redaction.ts'
import type { LogSink } from '../../src/telemetry/log-sink.ts'

const log = suite('log')

const IMSI = '999990000000001'
const KEY = '465b5ce8b199b49faa5f0a2ee238a6bc'

interface Capture {
  readonly log: KernelLog
  readonly text: () => string
  readonly lines: () => readonly Record<string, unknown>[]
}

function capture(more: Partial<LogOptions> = {}): Capture {
  const written: string[] = []
  const sink: LogSink = { write: (line) => written.push(line), flush: () => {}, close: () => {} }
  const options: LogOptions = { level: 'info', format: 'json', clock: fakeClock(), sink, hasColours: false }
  return {
    log: createLog({ ...options, ...more }),
    text: () => written.join(''),
    lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}

log('writes one JSON object per event with time, level, facts and message', () => {
  const { log: it, lines, text } = capture()
  it.info({ sim: 'abc', n: 1 }, 'sim suspended')
  assert.equal(lines(), [
    { level: 'info', time: '2026-01-01T00:00:00.000Z', sim: 'abc', n: 1, msg: 'sim suspended' },
  ])
  assert.ok(text().endsWith('}\n'))
})

log('binds facts to a child and its children', () => {
  const { log: it, lines } = capture()
  it.child({ plugin: 'sims' }).child({ sim: 'abc', token: 'x' }).warn({ n: 1 }, 'odd')
  const [line] = lines()
  assert.is(line?.plugin, 'sims')
  assert.is(line?.sim, 'abc')
  assert.is(line?.token, '[redacted]')
})

log('changes its level while it runs, in every child', () => {
  const { log: it, lines } = capture()
  const child = it.child({ plugin: 'x' })
  child.debug({}, 'one')
  it.setLevel('debug')
  child.debug({}, 'two')
  it.setLevel('error')
  child.warn({}, 'three')
  child.error({}, 'four')
  assert.equal(
    lines().map(({ msg }) => msg),
    ['two', 'four'],
  )
  assert.is(child.level, 'error')
})

log('hides values under secret names at any depth and in any spelling', () => {
  const secret = 'canary-value'
  const names = [
    'authorization',
    'Authorization',
    'cookie',
    'set-cookie',
    'X-Backup-Passphrase',
    'token',
    'access_token',
    'refreshToken',
    'ki',
    'KI',
    'opc',
    'OPc',
    'imsi',
    'supi',
    'msisdn',
    'password',
    'secret',
    'psk',
    'preshared_key',
    'matching_id',
    'activation_code',
    'confirmation_code',
    'adm',
    'adm1',
    'pin1',
    'puk2',
    'private_key',
    'iccid',
    'apiKey',
    'passphrase',
  ]
  for (const name of names) {
    const { log: it, text } = capture()
    it.info({ [name]: secret, a: { b: [{ c: { [name]: secret } }] } }, 'x')
    it.info({ err: new Error('x', { cause: Object.assign(new Error('y'), { [name]: secret }) }) }, 'x')
    it.child({ [name]: secret }).info({}, 'x')
    assert.not.ok(text().includes(secret), name)
  }
})

log('keeps what says something and is no secret', () => {
  const facts = {
    token: true,
    password: undefined,
    secret: null,
    imsi_sha256_12: 'a1b2c3d4e5f6',
    key: 'x',
    pins: 3,
    op_name: 'y',
  }
  assert.equal(redactFacts(facts), facts)
  const untouched = [
    '/v1/sims/a1b2c3d4e5f6/suspend',
    '2d67406f-6302-480c-ba12-615e0f51f08a',
    '0ee6a569ff49f3580b8e452efb48ad3ae8887837896ad55177e51b11b6933fb8',
    'svc_sim_state',
    '1767225600000',
    'http://amf:8000/namf-oam',
    '12345678901234567890',
    '10.45.0.0/16',
  ]
  for (const text of untouched) assert.is(scrubText(text), text)
})

log('scrubs tokens, bearer credentials, keys, IMSIs and activation codes out of texts', () => {
  const cases: readonly (readonly [text: string, clean: string])[] = [
    [`GET /x?t=svc_${'a'.repeat(43)}`, 'GET /x?t=[redacted]'],
    [`svcb_${'0'.repeat(32)}_secretsecret`, '[redacted]'],
    ['svc_reconcile_duration_seconds svc_k3Jd9aQ0 x', 'svc_reconcile_duration_seconds [redacted] x'],
    ['Authorization: Bearer abc.dEf', 'Authorization: Bearer [redacted]'],
    ['this route needs a bearer token', 'this route needs a bearer token'],
    ['basic dXNlcjpwYXNz', 'basic [redacted]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[redacted]'],
    ['jwt=x-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln.', 'jwt=x-[redacted].'],
    ['the eyJ of a.b.c stays', 'the eyJ of a.b.c stays'],
    [`imsi ${IMSI} unknown`, 'imsi [imsi] unknown'],
    [`imsi-${IMSI}`, '[imsi]'],
    [`{"imsi":"${IMSI}"}`, '{"imsi":"[imsi]"}'],
    ['postgres://svc:hunter2@db/svc', 'postgres://[redacted]@db/svc'],
    [`Ki=${KEY}`, 'Ki=[redacted]'],
    ['LPA:1$smdp.example$ABC-123', 'LPA:[redacted]'],
    ['-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nrest', '[redacted]\nrest'],
    ['-----BEGIN EC PRIVATE KEY-----\nabc', '[redacted]'],
  ]
  for (const [text, clean] of cases) assert.is(scrubText(text), clean)
})

log('leaves 32 hex digits under a name of an identifier', () => {
  assert.equal(redactFacts({ request_id: KEY, ca_sha256: KEY, value: KEY }), {
    request_id: KEY,
    ca_sha256: KEY,
    value: '[redacted]',
  })
})

log('writes errors with type, code, message, stack and cause, and nothing else of them', () => {
  const cause = Object.assign(new TypeError(`Bearer aBc123 of ${IMSI}`), { parameters: ['canary'] })
  const error = Object.assign(new Error(`token svc_${'aB3'.repeat(6)}`, { cause }), {
    code: 'x_failed',
    request: { body: 'canary' },
  })
  const { log: it, lines, text } = capture()
  it.error({ err: error, other: error }, 'failed')
  it.error(error, 'failed')
  assert.not.match(text(), /canary|99999|svc_aB|aBc123/)
  for (const line of lines()) {
    const err = line.err as Record<string, unknown>
    assert.equal(Object.keys(err).toSorted(), ['cause', 'code', 'message', 'stack', 'type'])
    assert.is(err.code, 'x_failed')
    assert.is(err.message, 'token [redacted]')
    assert.is((err.cause as Record<string, unknown>).type, 'TypeError')
  }
})

log('shows the length of a buffer and never its octets', () => {
  assert.equal(redactFacts({ a: Buffer.from(KEY, 'hex'), b: new Uint8Array(3) }), {
    a: '[16 bytes]',
    b: '[3 bytes]',
  })
})

log('leaves the facts as they are', () => {
  const facts = { token: 'x', inner: { ki: KEY } }
  redactFacts(facts)
  assert.equal(facts, { token: 'x', inner: { ki: KEY } })
})

log('survives any facts and writes one line for each', () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const throwing = Object.defineProperty({}, 'x', {
    enumerable: true,
    get: () => {
      throw new Error('no')
    },
  })
  const odd = [
    circular,
    throwing,
    { a: 1n, b: Symbol('x'), c: () => 1, d: new Map([[1, 2]]), e: new Date(Number.NaN) },
    Object.create(null),
  ]
  const { log: it, lines } = capture()
  for (const facts of odd) it.info(facts as object, 'odd')
  fc.assert(
    fc.property(fc.object(), fc.string(), (facts, message) => it.info(facts, message)),
    { numRuns: 200 },
  )
  assert.is(lines().length, odd.length + 200)
})

log('hides secrets in any structure', () => {
  const tree = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        `Bearer ${KEY}`,
        `x ${IMSI} y`,
        `svc_${KEY}`,
        { ki: 'canary' },
        { a: { Imsi: 'canary' } },
      ),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'err', 'headers'), tie('node'), { maxKeys: 3 }),
    ),
  })).node
  fc.assert(
    fc.property(tree, (value) => {
      const { log: it, text } = capture()
      it.info({ value }, 'x')
      assert.not.match(text(), new RegExp(`canary|${IMSI}|${KEY}`))
    }),
  )
})

log('writes a readable line for a terminal, with the stack under it', () => {
  const { log: it, text } = capture({ format: 'console' })
  it.child({ plugin: 'sims' }).info({ sim: 'abc', why: 'over quota', n: 1 }, 'sim suspended')
  assert.is(text(), '00:00:00.000 INFO  sim suspended plugin=sims sim=abc why="over quota" n=1\n')
  it.error({ err: new Error('boom', { cause: new Error('inner') }) }, 'failed')
  assert.match(text(), /ERROR failed\n {4}Error: boom\n {8}at [\s\S]*caused by:\n {4}Error: inner/)
})

log('shows requests on a terminal at debug alone, and keeps the last ones', () => {
  const { log: it, text } = capture({ format: 'console' })
  const http = it.child({ component: 'http' })
  http.plain({ route: '/v1/status', status: 200 }, 'request')
  http.info({ route: '/v1/status', request_id: 'mine' }, 'request')
  assert.is(text(), '')
  assert.is(it.recent().length, 2)
  it.control.hold('http', 'debug', 1_000)
  http.plain({ route: '/v1/sims', status: 200 }, 'request')
  assert.match(text(), /INFO {2}request component=http route=\/v1\/sims status=200\n/)
})

log('lets no control character reach a terminal', () => {
  const line = consoleLine(JSON.stringify({ level: 'info', msg: '\u001B[2Jx', a: '\u009B1m' }), {
    hasColours: false,
  })
  assert.not.ok(
    [...line].some(
      (letter) => letter !== '\n' && (letter < ' ' || (letter >= '\u007F' && letter <= '\u009F')),
    ),
  )
  assert.is(consoleLine('no json\n', { hasColours: false }), 'no json\n')
  assert.ok(consoleLine('{"level":"warn","msg":"x"}', { hasColours: true }).includes('\u001B[33mWARN '))
})

/** Runs a script that uses the real log on a pipe and gives back what came out. */
async function output(
  script: string,
  onData?: (child: ReturnType<typeof spawn>) => void,
): Promise<{ readonly text: string; readonly code: number | null }> {
  const preamble = `
    import { createLog } from '${new URL('../../src/telemetry/log.ts', import.meta.url)}'
    const log = createLog({ level: 'info', format: 'json', clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() } })
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', preamble + script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    onData?.(child)
  })
  const { promise, resolve } = Promise.withResolvers<number | null>()
  child.on('close', resolve)
  return { code: await promise, text }
}

log('loses no line at exit, however it comes', async () => {
  for (const end of [
    '',
    'process.exit(0)',
    'log.close()',
    'setTimeout(() => { throw new Error("end") }, 1); process.on("uncaughtException", () => process.exit(0))',
  ]) {
    const { text } = await output(`for (let i = 0; i < 1000; i++) log.info({ i }, 'line'); ${end}`)
    assert.is(text.trim().split('\n').length, 1000, end)
  }
})

log('writes a single line soon, without waiting for more', async () => {
  const { text } = await output("log.info({}, 'one'); setInterval(() => {}, 60_000)", (child) =>
    child.kill('SIGKILL'),
  )
  assert.match(text, /"msg":"one"/)
})

log('goes on when its reader is gone', async () => {
  const script =
    "for (let n = 0; n < 20; n++) { log.info({}, 'x'.repeat(5000)); await new Promise((r) => setTimeout(r, 10)) } process.exit(7)"
  const { code } = await output(script, (child) => child.stdout?.destroy())
  assert.is(code, 7)
})

log('looks through a long text in time that grows with its length alone', () => {
  const length = 400_000
  for (const unit of [
    'eyJ-',
    'eyJa.',
    'svc_-',
    'Bearer ',
    '://a',
    'imsi-1',
    '-----BEGIN ',
    '0123456789abcdef',
  ]) {
    const text = unit.repeat(length / unit.length)
    const startedMs = cpuMs()
    scrubText(text)
    // A pattern that is tried anew from each character takes minutes.
    assert.ok(cpuMs() - startedMs < 4_000, unit)
  }
})

log.run()
