import { SERVICE_CONFIG } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { publicConfig, REPLACED } from '../src/bundle/public-config.ts'

const test = suite('the configuration in a bundle')

const key = (more: object): object => ({ 'x-apply': 'reload', ...more })
const group = (properties: object): Record<string, unknown> => ({ type: 'object', properties })
const text = (more: object = {}): object => key({ type: 'string', ...more })

function shown(properties: object, values: object): Readonly<Record<string, unknown>> {
  return publicConfig(group({ x: group(properties) }), { x: values })
}

test('shows what its schema says is harmless', () => {
  const harmless = {
    on: [key({ type: 'boolean' }), true],
    count: [key({ type: 'integer' }), 7],
    ratio: [key({ type: ['number', 'null'] }), 0.5],
    choice: [text({ enum: ['a', 'b'] }), 'b'],
    every: [text({ format: 'duration' }), '5m'],
    also: [text({ pattern: '^$|^(\\d+(ms|s|m|h|d|w|y))+$' }), '90d'],
    net: [key({ type: 'array', items: { type: 'string', format: 'cidr' } }), ['10.0.0.0/8']],
    land: [text({ 'x-shown': true }), 'NL'],
    usual: [text({ default: 'mongo' }), 'mongo'],
    empty: [text(), ''],
  } as const
  for (const [name, [schema, value]] of Object.entries(harmless))
    assert.equal(shown({ [name]: schema }, { [name]: value }), { [`x.${name}`]: value })
})

test('replaces all else', () => {
  const secret = {
    word: [text(), 'hunter2'],
    marked: [key({ type: 'integer', 'x-secret': true }), 1234],
    choice: [text({ enum: ['a', 'b'] }), 'hunter2'],
    every: [text({ pattern: '^.*(ms|s|m|h|d|w|y)$' }), 'hunter2s'],
    flag: [text(), true],
    number: [text(), 4711],
    large: [key({ type: 'integer' }), 999_990_000_000_001],
    unknown: [{}, { inner: 'hunter2' }],
  } as const
  for (const [name, [schema, value]] of Object.entries(secret)) {
    const [only] = Object.values(shown({ [name]: schema }, { [name]: value }))
    assert.not(JSON.stringify(only).includes(String(typeof value === 'object' ? 'hunter2' : value)), name)
  }
  assert.equal(shown({}, { stray: 'hunter2' }), {})
})

test('leaves scheme and host of a URL', () => {
  const url = text({ format: 'url' })
  assert.equal(
    shown({ url }, { url: 'https://me:hunter2@example.org:8443/T0/hunter2?key=hunter2#hunter2' }),
    {
      'x.url': `https://example.org:8443/${REPLACED}`,
    },
  )
  const store = text({ format: 'store-url' })
  for (const value of [
    'postgres://svc:hunter2@db/svc?password=hunter2',
    'postgres://svc:hunter2/x@db/svc',
    'postgres://svc:12/hunter2@db/svc',
    'mongodb://hunter2@a,b:1/x',
    'sqlite:/home/hunter2/svc.db',
  ])
    assert.not(JSON.stringify(shown({ store }, { store: value })).includes('hunter2'), value)
})

test('names no key that somebody chose', () => {
  const map = key({
    type: 'object',
    additionalProperties: { type: 'object', properties: { mhz: { type: 'number' } } },
  })
  assert.equal(shown({ map }, { map: { 'attic of Ann': { mhz: 20, note: 'hunter2' } } }), {
    'x.map': { '#1': { mhz: 20, '#1': REPLACED } },
  })
})

test('knows the keys of the service itself', () => {
  const settings = { server: { mode: 'lab', country: 'NL', data_dir: '/home/ann' }, tls: { enabled: true } }
  assert.equal(publicConfig(SERVICE_CONFIG, settings), {
    'server.data_dir': REPLACED,
    'server.mode': 'lab',
    'server.country': 'NL',
    'tls.enabled': true,
  })
})

test.run()
