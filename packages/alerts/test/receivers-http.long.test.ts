import { type CommandHost, healthBoardRef } from '@steeple/contracts'
import { assert, bodyOf, eventually, suite, type TestResponse } from '@steeple/testkit'
import { commands } from '../src/commands.ts'
import { KNOWN, type Service, startService } from './support/services.ts'
import { type World, world } from './support/world.ts'

const receivers = suite('alerts/receivers-http')

interface ReceiverBody {
  readonly name: string
  readonly source: string
  readonly min_severity: string
  readonly settings: Readonly<Record<string, unknown>> | null
}
interface Refusal {
  readonly error: {
    readonly code: string
    readonly details?: readonly { readonly pointer: string; readonly message: string }[]
  }
}
interface Tested {
  readonly delivered: boolean
  readonly error: string | null
}

const PATH = '/v1/alerts/receivers'

/** Alerts, and a chat of Telegram that a receiver may send to. */
async function withChat(
  work: (
    all: World,
    chat: Service,
    fields: { readonly server: string; readonly chat: string; readonly allow_private: true },
  ) => Promise<void>,
): Promise<void> {
  const all = await world()
  const chat = await startService('telegram')
  try {
    const server = `http://127.0.0.1:${chat.port}`
    await work(all, chat, { server, chat: KNOWN.chat, allow_private: true })
  } finally {
    await chat.close()
    await all.close()
  }
}

type Method = 'POST' | 'PUT' | 'DELETE'
const asking =
  ({ bed }: World) =>
  (method: Method, end: string, body?: object): Promise<TestResponse> =>
    bed.request(method, `${PATH}${end}`, body === undefined ? {} : { body })

async function listed({ bed }: World, token?: string): Promise<readonly ReceiverBody[]> {
  const answer = await bed.request('GET', PATH, token === undefined ? {} : { token })
  return bodyOf<{ readonly receivers: readonly ReceiverBody[] }>(answer).receivers
}

receivers('are added, tried, told and removed, and nobody is shown a secret again', async () => {
  await withChat(async (all, chat, fields) => {
    const ask = asking(all)
    const body = { name: 'maria', kind: 'telegram', token: KNOWN.bot, ...fields }
    const added = bodyOf<ReceiverBody>(await ask('POST', '', body), 201)
    assert.equal([added.source, added.min_severity], ['store', 'warning'])
    assert.is(added.settings?.chat, KNOWN.chat)
    assert.is((await ask('POST', '', body)).status, 409)
    assert.is((await ask('POST', '', { ...body, name: 'ops' })).status, 409, 'the file has this name')
    assert.equal(
      (await listed(all)).map(({ name, source }) => [name, source]),
      [
        ['ops', 'file'],
        ['maria', 'store'],
      ],
    )
    const viewer = all.bed.credential({ kind: 'user', id: 'ann', roles: ['viewer'] })
    assert.equal(
      (await listed(all, viewer)).map(({ settings }) => settings),
      [null, null],
    )
    const tested = bodyOf<Tested>(await ask('POST', '/maria/test', {}))
    assert.equal([tested.delivered, tested.error], [true, null])
    all.set(11)
    await eventually(() => assert.match(chat.told[1] ?? '', /^Warning: high \(svc_gauge_level\) on /))
    all.set(1)
    await eventually(() => assert.match(chat.told[2] ?? '', /^Over: high/))
    await eventually(() => {
      const components = all.bed.service(healthBoardRef)?.components() ?? []
      assert.ok(components.some(({ name }) => name === 'alerts.telegram.maria'))
    })
    assert.is((await ask('DELETE', '/ops')).status, 409)
    assert.is((await ask('DELETE', '/maria')).status, 204)
    assert.is((await ask('POST', '/maria/test', {})).status, 404)
    const kept = JSON.stringify([await all.bed.audit(), await all.bed.events(), added, tested])
    assert.not.ok(kept.includes(KNOWN.bot))
    assert.equal(
      (await all.bed.audit()).map(({ action }) => action).filter((action) => action.includes('receiver')),
      [
        'alert.receiver.remove',
        'alert.receiver.remove',
        'alert.receiver.add',
        'alert.receiver.add',
        'alert.receiver.add',
      ],
    )
  })
})

receivers('keep their secrets at a change, but not for another server', async () => {
  await withChat(async (all, chat, fields) => {
    const ask = asking(all)
    const added = await ask('POST', '', { name: 'maria', kind: 'telegram', token: KNOWN.bot, ...fields })
    assert.is(added.status, 201)
    const changed = bodyOf<ReceiverBody>(await ask('PUT', '/maria', { ...fields, min_severity: 'critical' }))
    assert.is(changed.min_severity, 'critical')
    assert.is(bodyOf<Tested>(await ask('POST', '/maria/test', {})).delivered, true)
    const thief = await startService('telegram')
    try {
      const server = `http://127.0.0.1:${thief.port}`
      const refused = bodyOf<Refusal>(await ask('PUT', '/maria', { ...fields, server }), 400)
      assert.equal(refused.error.details, [
        { pointer: '/token', message: 'enter token again, since it would be sent to another server' },
      ])
      assert.is((await ask('PUT', '/maria', { ...fields, server, token: KNOWN.bot })).status, 200)
      await ask('POST', '/maria/test', {})
      assert.equal([chat.told.length, thief.told.length], [1, 1])
    } finally {
      await thief.close()
    }
    assert.is((await ask('PUT', '/ops', {})).status, 409)
    assert.is((await ask('PUT', '/nobody', fields)).status, 404)
  })
})

receivers('are added by a command that reads what is secret from standard input', async () => {
  await withChat(async (all, chat, { server }) => {
    const typed = {
      name: 'maria',
      kind: 'telegram',
      chat: KNOWN.chat,
      server,
      allowPrivate: true,
      resolved: true,
    }
    const host = {
      typed,
      isJson: true,
      ask: undefined,
      input: async () => `${KNOWN.bot}\n`,
      call: async (_: string, { body }: { readonly body: object }) =>
        bodyOf<object>(await asking(all)('POST', '', body), 201),
      printRecord: (record: object) => assert.not.ok(JSON.stringify(record).includes(KNOWN.bot)),
    }
    await commands['alert receiver add']?.(host as unknown as CommandHost)
    assert.is(bodyOf<Tested>(await asking(all)('POST', '/maria/test', {})).delivered, true)
    assert.is(chat.told.length, 1)
  })
})

receivers('say what is wrong with which field', async () => {
  await withChat(async (all) => {
    const ask = asking(all)
    const why = async (body: object): Promise<readonly (readonly [string, string])[]> => {
      const { error } = bodyOf<Refusal>(await ask('POST', '', { name: 'x', ...body }), 400)
      return (error.details ?? []).map(({ pointer, message }) => [pointer, message])
    }
    assert.equal(await why({ kind: 'telegram', chat: '1', room: '!a:b' }), [
      ['/room', 'a receiver of kind telegram has no room'],
      ['/token', 'a receiver of kind telegram needs token'],
    ])
    const mail = { kind: 'mail', host: 'mail.example', from: 'a@b.example', to: 'a@b.example' }
    assert.equal(await why({ ...mail, user: 'x' }), [
      ['/password', 'a receiver of kind mail needs user and password, or neither'],
    ])
    const clear = await why({ ...mail, encryption: 'none' })
    assert.match(clear[0]?.[1] ?? '', /use starttls or tls, or say allow_private/)
    const [[at, said] = ['', '']] = await why({
      kind: 'webhook',
      url: 'https://a.example/',
      secret: 'whsec_short',
    })
    assert.is(at, '/secret')
    assert.not.ok(said.includes('whsec_short'))
    const [[where, metadata] = ['', '']] = await why({ kind: 'slack', url: 'https://169.254.169.254/x' })
    assert.equal([where, /never connected to/.test(metadata)], ['/url', true])
    for (const to of ['a', 'a@b.example\nBcc: c@d.example', 'a@b.example;c@d.example'])
      assert.equal(
        (await why({ ...mail, to })).map(([pointer]) => pointer),
        ['/to'],
      )
    assert.equal(await listed(all).then((rows) => rows.length), 1)
  })
})

receivers.run()
