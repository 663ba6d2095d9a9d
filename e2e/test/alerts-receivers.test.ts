import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import { SMTPServer } from 'smtp-server'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'
import { startWebhookReceiver, type Treatment, type WebhookReceiver } from '../harness/webhook-receiver.ts'

/** A mail that the relay has taken. */
interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

/** The program of docs/alerts in front of a mail relay. */
interface MailRelay {
  /** Where webhooks are sent. */
  readonly url: string
  readonly mails: readonly Mail[]
  /** Whether the relay refuses all mail, for now. */
  isBusy: boolean
  stop(): Promise<void>
}

async function startMailRelay(secretFile: string): Promise<MailRelay> {
  const mails: Mail[] = []
  const relay = { isBusy: false }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (relay.isBusy) {
          done(Object.assign(new Error('try again later'), { responseCode: 451 }))
          return
        }
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        mails.push({ from, to, text: Buffer.concat(chunks).toString('utf8') })
        done()
      })
    },
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.server.address() as AddressInfo
  const program = join(ROOT, 'docs/programs/mail-relay.py')
  const child = spawn('python3', [program], {
    env: {
      ...process.env,
      SECRET_FILE: secretFile,
      MAIL_FROM: 'box@example.org',
      MAIL_TO: 'ops@example.org',
      SMTP: `127.0.0.1:${port}`,
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await firstLine(child)
  return Object.assign(relay, {
    url,
    mails,
    stop: async () => {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      await new Promise<void>((done) => server.close(() => done()))
    },
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'))
  }
  throw new Error('the program of docs/alerts has ended')
}

const receivers = suite('e2e/alerts-receivers', { limitMs: 600_000 })
/** What stands in a URL and in a header. */
const TOKEN = 'tokenOfTheCanary0123456789'
const MAIL_SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}\n`
let treatment: Treatment = 'take'
let folder: string
let service: Service
let hooks: WebhookReceiver
let mail: MailRelay

const file = (name: string): string => join(folder, name)
function configure(rules: readonly object[], enabled = true): void {
  const common = { allow_private: true }
  const webhooks = [
    {
      name: 'ops',
      url: `${hooks.url}?token=${TOKEN}`,
      secret_file: file('ops.secret'),
      authorization_file: file('ops.auth'),
      events: ['alert.firing', 'alert.acked'],
      ...common,
    },
    { name: 'mail', url: mail.url, secret_file: file('mail.secret'), ...common },
  ]
  writeFileSync(
    file('control.yaml'),
    JSON.stringify({ alerts: { enabled, interval: '1s', rules, webhooks } }),
  )
}

const rule = (name: string, metric: string): object => ({
  name,
  metric,
  op: '>',
  threshold: 0,
  for: '0s',
  severity: 'critical',
})

receivers.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-alerts-'))
  hooks = await startWebhookReceiver(file('ops.secret'), () => treatment)
  writeFileSync(file('mail.secret'), MAIL_SECRET, { mode: 0o600 })
  writeFileSync(file('ops.auth'), `Bearer ${TOKEN}\n`, { mode: 0o600 })
  mail = await startMailRelay(file('mail.secret'))
  configure([])
  service = await startService({ dataDir: file('data'), flags: ['--config', file('control.yaml')] })
})

receivers.after(async () => {
  await service?.stop()
  await mail?.stop()
  await hooks?.close()
  rmSync(folder, { recursive: true, force: true })
})

const svc = (...args: readonly string[]): ReturnType<typeof runSvc> =>
  runSvc(args, { SVC_URL: service.url, SVC_TOKEN: service.adminToken })

receivers('sends each receiver a message when it is asked to, and says which one takes none', async () => {
  for (const name of ['ops', 'mail']) {
    const { code, stdout, stderr } = await svc('alert', 'test', name)
    assert.is(code, 0, stdout + stderr)
  }
  assert.is(hooks.deliveries[0]?.payload.type, 'alert.test')
  assert.match(
    mail.mails[0]?.text ?? '',
    /^Subject: A message to try out this receiver: nothing is wrong\.\r$/m,
  )
  mail.isBusy = true
  const refused = await svc('alert', 'test', 'mail')
  assert.is(refused.code, 1)
  assert.match(refused.stdout, /it answers 503/)
  mail.isBusy = false
  const unknown = await svc('alert', 'test', 'nobody')
  assert.is(unknown.code, 1)
  assert.match(unknown.stderr, /webhook_not_found.*use one of: ops, mail/)
})

receivers('takes rules at SIGHUP, and keeps those before when one names no metric', async () => {
  configure([rule('wrong', 'svc_sim_stat')])
  service.child.kill('SIGHUP')
  await eventually(() => assert.match(service.output(), /Did you mean svc_sim_state\?/))
  configure([rule('up', 'process_start_time_seconds')])
  service.child.kill('SIGHUP')
  const about = /^Subject: CRITICAL: up \(process_start_time_seconds\) on /m
  await eventually(() => assert.ok(mail.mails.some(({ text }) => about.test(text))))
  const letter = mail.mails.find(({ text }) => about.test(text))
  assert.equal([letter?.from, letter?.to], ['box@example.org', ['ops@example.org']])
  assert.match(letter?.text ?? '', /^Message-ID:\s+<msg_[0-9a-f]{32}@[0-9a-f-]{36}>\r$/m)
  const firing = hooks.deliveries.find(({ payload }) => payload.type === 'alert.firing')
  assert.ok(letter?.text.includes(String(firing?.id)), 'all receivers get the same message')
})

receivers('lists, acknowledges and silences by the command line', async () => {
  const list = JSON.parse((await svc('alert', 'list', '--rule', 'up', '--json')).stdout)
  const { id, severity, state } = list.alerts[0]
  assert.equal([list.alerts.length, severity, state], [1, 'critical', 'firing'])
  assert.match((await svc('alert', 'list')).stdout, new RegExp(`${id} +critical +firing +up`))
  assert.is((await svc('alert', 'ack', id)).code, 0)
  await eventually(() => assert.ok(hooks.deliveries.some(({ payload }) => payload.type === 'alert.acked')))
  const silenced = JSON.parse((await svc('alert', 'silence', id, '--for', '2h', '--json')).stdout)
  assert.ok(Date.parse(silenced.silenced_until) > Date.now())
  assert.is(JSON.parse((await svc('alert', 'silence', id, '--end', '--json')).stdout).silenced_until, null)
  assert.is((await svc('alert', 'silence', id)).code, 2)
  assert.is((await svc('alert', 'ack', 'everything')).code, 2)
  assert.match((await svc('alert', 'webhooks')).stdout, /^ops +0 +0/m)
})

receivers(
  'says of an empty list that no rule is looked at, and at once of a receiver that can never be told',
  async () => {
    const nobody = ['alert', 'list', '--rule', 'nobody'] as const
    assert.is((await svc(...nobody)).stderr, '')
    configure([], false)
    rmSync(file('mail.secret'))
    service.child.kill('SIGHUP')
    await eventually(async () => assert.match((await svc(...nobody)).stderr, /set alerts\.enabled/))
    await eventually(async () => {
      const { stdout } = await svc('health')
      assert.match(stdout, /^alerts\.webhook\.mail .*degraded .*mail\.secret cannot be read: ENOENT$/m)
      assert.match(stdout, /^alerts\.webhook\.ops .* ok /m)
    })
    writeFileSync(file('mail.secret'), MAIL_SECRET, { mode: 0o600 })
  },
)

receivers('shows its secrets to nobody, whatever a receiver does', async () => {
  treatment = 'redirect'
  const failed = await svc('alert', 'test', 'ops')
  treatment = 'take'
  const said = [failed.stdout, failed.stderr, service.output()]
  for (const path of [
    '/v1/alerts',
    '/v1/alerts/webhooks',
    '/v1/health',
    '/v1/audit',
    '/v1/openapi.json',
    '/metrics',
  ])
    said.push(JSON.stringify((await service.request('GET', path)).body))
  const files = readdirSync(file('data'), { recursive: true, withFileTypes: true })
  for (const entry of files.filter((one) => one.isFile()))
    said.push(readFileSync(join(entry.parentPath, entry.name), 'latin1'))
  const keys = ['ops.secret', 'mail.secret'].map((name) => readFileSync(file(name), 'utf8').trim())
  assert.match(failed.stdout, /redirects are not followed/)
  for (const secret of [TOKEN, ...keys, ...keys.map((key) => key.slice('whsec_'.length))])
    for (const text of said) assert.not.ok(text.includes(secret))
})

receivers.run()
