import { fileURLToPath } from 'node:url'
import { nodeIdentityRef, serviceInfoRef } from '@steeple/contracts'
import { assert, type FakeContext, fakeContext, suite } from '@steeple/testkit'
import type { AlertsConfig } from '../src/config.ts'
import type { AlertParts } from '../src/parts.ts'
import { isEncrypted, type Kind, partsOf, serverOf, type Values } from '../src/receivers/kinds.ts'
import { ruleTexts, wordsOf } from '../src/receivers/words.ts'
import { failureOf } from '../src/webhooks/deliver.ts'
import { messageOf } from '../src/webhooks/message.ts'
import type { Message } from '../src/webhooks/sign.ts'
import { storedTarget, type Target } from '../src/webhooks/target.ts'
import { KNOWN, startMailServer, startService } from './support/services.ts'

const receivers = suite('alerts/receivers')

const services = new Map<string, object>([[nodeIdentityRef.id, { nodeId: 'n', name: 'hill' }]])
const fake: FakeContext<AlertsConfig> = fakeContext({ id: 'alerts', config: undefined as never, services })
receivers.after(() => fake.dispose())

const DATA = {
  id: 'a-0000000000000001',
  rule: 'component_down',
  severity: 'critical',
  state: 'firing',
  subject: 'core.mme',
  message: 'No core, 14 phones are off: <no answer> & nothing else',
  started_at: '2026-11-22T18:00:00.000Z',
  resolved_at: null,
}

function message(
  type: 'alert.firing' | 'alert.resolved' | 'alert.test' = 'alert.firing',
  data: object = DATA,
): Message {
  return messageOf({ context: fake.context } as unknown as AlertParts, {
    type,
    atMs: 0,
    text: 'one line',
    data,
  })
}

/** A receiver as the store has it; its secrets are sealed by nobody. */
function receiver(kind: Kind, values: Values, more: object = {}): Target {
  const { settings, secrets } = partsOf(kind, values)
  const row = {
    name: 'it',
    kind,
    server: serverOf(kind, values).href,
    min_severity: 'warning',
    is_resolved_too: 1,
    allow_private: 1,
    link: 'https://hill.example',
    settings: JSON.stringify(settings),
    secrets_sealed: Buffer.from(JSON.stringify(secrets)),
    ...more,
  } as const
  const target = storedTarget(row, { open: (sealed) => Buffer.from(sealed) })
  if (target === undefined) throw new Error('there is no such kind')
  return target
}

async function sent(target: Target, what: Message = message()): Promise<string | undefined> {
  const { signal } = new AbortController()
  return (await failureOf({ context: fake.context }, target, what, signal))?.why
}

const http = (port: number): string => `http://127.0.0.1:${port}`

/** For each kind: what is right, and what is wrong with what the service says of it. */
const CASES: readonly {
  readonly kind: 'ntfy' | 'matrix' | 'slack' | 'telegram'
  values(server: string): Values
  readonly wrong: readonly (readonly [(server: string) => Values, string])[]
}[] = [
  {
    kind: 'ntfy',
    values: (server) => ({ server, topic: KNOWN.topic, token: KNOWN.token }),
    wrong: [
      [() => ({ token: 'tk_other' }), 'it answers 401: unauthorized'],
      [() => ({ topic: 'another' }), 'it answers 403: forbidden'],
    ],
  },
  {
    kind: 'matrix',
    values: (server) => ({ server, room: KNOWN.room, token: KNOWN.token }),
    wrong: [
      [() => ({ token: 'syt_other' }), 'it answers 401: Invalid access token Bearer …'],
      [() => ({ room: '!other:chat.example' }), 'it answers 403: User is not in the room'],
    ],
  },
  {
    kind: 'slack',
    values: (server) => ({ url: `${server}${KNOWN.slack}` }),
    wrong: [[(server) => ({ url: `${server}/services/T1` }), 'it answers 404: no_service']],
  },
  {
    kind: 'telegram',
    values: (server) => ({ server, chat: KNOWN.chat, token: KNOWN.bot }),
    wrong: [
      [() => ({ chat: '5' }), 'it answers 400: Bad Request: chat not found'],
      [() => ({ token: '1:other' }), 'it answers 401: Unauthorized /bot…/sendMessage'],
    ],
  },
]

for (const { kind, values, wrong } of CASES) {
  receivers(`${kind} takes a message that says what happened, what to do, since when and where`, async () => {
    const service = await startService(kind)
    try {
      const server = http(service.port)
      const right = values(server)
      assert.is(await sent(receiver(kind, right)), undefined)
      const [told = ''] = service.told
      for (const part of [
        'CRITICAL: No core on hill',
        DATA.message,
        'Open System.',
        'Since 2026-11-22 18:00 UTC.',
        'https://hill.example/alerts',
      ])
        assert.ok(told.includes(part), `${part} is not in ${told}`)
      assert.is(await sent(receiver(kind, right), message('alert.test', {})), undefined)
      assert.match(service.told[1] ?? '', /Test message from hill/)
      for (const [change, why] of wrong)
        assert.is(await sent(receiver(kind, { ...right, ...change(server) })), why)
      assert.equal([service.told.length, service.refused.length], [2, wrong.length])
    } finally {
      await service.close()
    }
  })
}

receivers('a room of Matrix shows a message once, however often it comes', async () => {
  const service = await startService('matrix')
  try {
    const target = receiver('matrix', { server: http(service.port), room: KNOWN.room, token: KNOWN.token })
    const twice = message()
    assert.equal([await sent(target, twice), await sent(target, twice)], [undefined, undefined])
    assert.is(service.told.length, 1)
  } finally {
    await service.close()
  }
})

receivers('a mail goes to each reader, and the relay is asked who sends it', async () => {
  const service = await startMailServer()
  try {
    const values = {
      host: '127.0.0.1',
      port: service.port,
      encryption: 'none',
      user: KNOWN.user,
      password: KNOWN.password,
      from: KNOWN.user,
      to: 'a@b.example, c@d.example',
    }
    assert.is(await sent(receiver('mail', values)), undefined)
    const [mail = ''] = service.told
    assert.ok(mail.startsWith('a@b.example,c@d.example\n'), mail)
    for (const header of [
      /^Subject: CRITICAL: No core on hill\r$/m,
      /^Message-ID: <msg_[0-9a-f]{32}@mail\.example>\r$/m,
      /^Auto-Submitted: auto-generated\r$/m,
    ])
      assert.match(mail, header)
    assert.ok(mail.includes('No core, 14 phones are off: '))
    const refused = await sent(receiver('mail', { ...values, password: 'another password' }))
    assert.is(refused, 'it answers 535 authentication failed for …')
    const foreign = await sent(receiver('mail', { ...values, from: 'x@y.example' }))
    assert.match(foreign ?? '', /^it answers 553 sender address rejected/)
    // It has no TLS, and what asks for it hands nothing over.
    const asks = await sent(receiver('mail', { ...values, encryption: 'starttls' }))
    assert.match(asks ?? '', /^it offers no STARTTLS: it answers 500/)
    assert.is(service.told.length, 1)
  } finally {
    await service.close()
  }
})

receivers(
  'nothing is sent in the clear to the internet, and nothing to addresses that nobody may speak to',
  async () => {
    const mail = {
      host: 'mail.example',
      port: 25,
      encryption: 'none',
      from: 'a@b.example',
      to: 'a@b.example',
    }
    const at = async (target: Target, address: string): Promise<string | undefined> => {
      const resolve = async () => [{ address, family: 4 }] as const
      return (
        await failureOf({ context: fake.context, resolve }, target, message(), AbortSignal.timeout(60_000))
      )?.why
    }
    assert.match(
      (await at(receiver('mail', mail), '1.1.1.1')) ?? '',
      /encryption: none is for receivers of this/,
    )
    const ntfy = { server: 'https://ntfy.example', topic: 'x' }
    for (const target of [receiver('mail', { ...mail, encryption: 'tls' }), receiver('ntfy', ntfy)])
      assert.match((await at(target, '169.254.169.254')) ?? '', /never connected to/)
    const strict = { allow_private: 0 }
    assert.match((await at(receiver('ntfy', ntfy, strict), '10.0.0.1')) ?? '', /private network/)
    assert.equal(isEncrypted('mail', { encryption: 'starttls' }), true)
  },
)

receivers('is told what is grave enough, and of an end where it wants to', () => {
  const values = { url: 'https://chat.example/hook' }
  const wants = (more: object, type: 'alert.firing' | 'alert.resolved' | 'alert.acked') =>
    (['info', 'warning', 'critical'] as const).map((severity) =>
      receiver('slack', values, more).wants(type, severity),
    )
  assert.equal(wants({}, 'alert.firing'), [false, true, true])
  assert.equal(wants({ min_severity: 'critical' }, 'alert.firing'), [false, false, true])
  assert.equal(wants({ min_severity: 'info' }, 'alert.resolved'), [true, true, true])
  assert.equal(wants({ is_resolved_too: 0 }, 'alert.resolved'), [false, false, false])
  assert.equal(wants({ min_severity: 'info' }, 'alert.acked'), [false, false, false])
})

receivers('an end says what it was and how long it lasted, and has no link where nobody has said one', () => {
  const over = message('alert.resolved', { ...DATA, resolved_at: '2026-11-22T19:30:00.000Z' })
  const { title, text } = wordsOf(over.body, undefined, ruleTexts(fake.context))
  assert.is(title, 'Over: No core on hill')
  assert.is(text, `It was: ${DATA.message}\nFrom 2026-11-22 18:00 UTC to 2026-11-22 19:30 UTC.`)
  const own = message('alert.firing', {
    ...DATA,
    rule: 'mine',
    subject: 'mine',
    message: 'No core of mine: 4',
  })
  assert.match(wordsOf(own.body, undefined, ruleTexts(fake.context)).title, /^CRITICAL: mine on hill$/)
})

receivers('names a rule of another plugin, and says what to do, as that plugin does', () => {
  const textsDir = fileURLToPath(new URL('../../backup/texts', import.meta.url))
  const running = { plugins: () => [{ alerts: { backup_overdue: {} }, textsDir }, { alerts: { other: {} } }] }
  const own = fakeContext({
    id: 'alerts',
    config: undefined,
    services: new Map<string, object>([...services, [serviceInfoRef.id, running]]),
  })
  const data = {
    ...DATA,
    rule: 'backup_overdue',
    subject: 'backup',
    message: 'the last backup is 9 days old',
  }
  const { title, text } = wordsOf(message('alert.firing', data).body, undefined, ruleTexts(own.context))
  assert.is(title, 'CRITICAL: No recent backup (backup) on hill')
  assert.match(text, 'Open Backup and make one now.')
})

receivers('says so when the keys of this box do not open its secrets', async () => {
  const target = storedTarget(
    {
      name: 'it',
      kind: 'slack',
      server: 'https://chat.example/',
      min_severity: 'info',
      is_resolved_too: 1,
      allow_private: 0,
      link: null,
      settings: '{}',
      secrets_sealed: Buffer.from('x'),
    },
    {
      open: () => {
        throw new Error('no')
      },
    },
  )
  if (target === undefined) throw new Error('there is no such kind')
  assert.match((await sent(target)) ?? '', /enter them again/)
})

receivers.run()
