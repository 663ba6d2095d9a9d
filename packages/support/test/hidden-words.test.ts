import { assert, suite } from '@steeple/testkit'
import { hidesOf } from '../src/bundle/hidden-words.ts'

const test = suite('what the configuration does not show')

const text = { type: 'string', 'x-apply': 'reload' } as const
const SCHEMA = {
  type: 'object',
  properties: {
    server: {
      type: 'object',
      properties: { mode: { ...text, enum: ['lab', 'real'] }, data_dir: text, tag: text },
    },
    hooks: {
      type: 'array',
      'x-apply': 'reload',
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, url: { type: 'string', format: 'url' } },
      },
    },
    map: { type: 'object', 'x-apply': 'reload', additionalProperties: { type: 'string' } },
  },
}
const SETTINGS = {
  server: { mode: 'real', data_dir: '/home/ann/box', tag: 'abc' },
  hooks: [{ name: 'ann-phone', url: 'https://example.org/T0/x' }],
  map: { 'attic of Ann': 'mode' },
}

test('is replaced wherever it stands, whatever its case', () => {
  const hides = hidesOf(SCHEMA, SETTINGS)
  assert.is(hides('alerts.webhook.ann-phone is down'), 'alerts.webhook.[replaced] is down')
  assert.is(hides('Attic of ann at /home/ann/box.'), '[replaced] at [replaced].')
})

test('hides the names that people gave to receivers, however short', () => {
  const hides = hidesOf(SCHEMA, SETTINGS, ['mia', 'ntfy'])
  assert.is(
    hides('alerts.ntfy.mia (svc alert test mia --resend), mialine'),
    'alerts.[replaced].[replaced] (svc alert test [replaced] --resend), mialine',
  )
})

test('leaves what it shows, names of keys, short texts and parts of words', () => {
  const hides = hidesOf(SCHEMA, SETTINGS)
  for (const same of ['mode real, abc', 'server.data_dir', 'ann-phones', 'name']) assert.is(hides(same), same)
})

test.run()
