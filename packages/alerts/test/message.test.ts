import { nodeIdentityRef } from '@steeple/contracts'
import { assert, fakeContext, suite } from '@steeple/testkit'
import type { AlertParts } from '../src/parts.ts'
import { messageOf } from '../src/webhooks/message.ts'

const messages = suite('alerts/message')

messages('can be written as UTF-8 by whoever reads it, wherever a text was cut', () => {
  const identity = { nodeId: 'n', name: 'hill \u{d83d}' }
  const { context } = fakeContext({ config: undefined, services: new Map([[nodeIdentityRef.id, identity]]) })
  const { body } = messageOf({ context } as unknown as AlertParts, {
    type: 'alert.test',
    atMs: 0,
    text: 'a mast 📡'.slice(0, -1),
    data: { subject: '\u{dce1} mast', said: 'a backslash and ud83d: \\ud83d', whole: '📡' },
  })
  const read: unknown = JSON.parse(body, (_, value) => {
    if (typeof value === 'string') assert.ok(value.isWellFormed(), JSON.stringify(value))
    return value
  })
  const { data } = read as { readonly data: Readonly<Record<string, string>> }
  assert.is(data.said, 'a backslash and ud83d: \\ud83d')
  assert.is(data.whole, '📡')
})

messages.run()
