import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, enterOwnNetwork, suite } from '@steeple/testkit'
import { patiently } from '../harness/alerts-witness.ts'
import {
  type ChatServer,
  documentedUrl,
  MATRIX,
  NTFY,
  startMatrix,
  startNtfy,
} from '../harness/chat-servers.ts'
import { ROOT } from '../harness/launch.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'

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
      shown.some((one) => /Resolved: up \(process_start_time_seconds\) on /.test(one)),
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
