import { assert, suite } from '@steeple/testkit'
import { settingsInForce } from '../src/change-settings.ts'
import { load, sectionOf } from './load-helper.ts'

const inForce = suite('settings/in-force')

const schema = {
  type: 'object',
  properties: {
    pager: {
      type: 'object',
      properties: {
        url: { type: 'string', format: 'url', default: '', description: 'Where to.' },
        key: { type: 'string', 'x-secret': true, default: '' },
        receivers: {
          type: 'array',
          default: [],
          items: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              url: { type: 'string' },
              key: { type: 'string', 'x-secret': true },
            },
          },
        },
        limit: { type: 'integer', default: 5, 'x-apply': 'restart', 'x-env': { name: 'SVC_PAGER_LIMIT' } },
      },
    },
  },
}
const SECTIONS = [sectionOf('pager', schema, 'build')]

inForce('tells of each key what it is, what is in force and who set it', () => {
  const loaded = load('server:\n  country: DE\n', { sections: SECTIONS, env: { SVC_PAGER_LIMIT: '7' } })
  const rows = new Map(settingsInForce(loaded, loaded.settings).map((row) => [row.key, row]))
  const country = rows.get('server.country')
  assert.is(country?.value, 'DE')
  assert.is(country?.default, 'LAB')
  assert.match(country?.from ?? '', /:2:/)
  assert.is(country?.plugin, undefined)
  assert.ok(country?.isSettable)
  assert.not(rows.get('server.listen')?.isSettable)
  assert.is(rows.get('server.listen')?.flag, '--listen')
  const limit = rows.get('pager.limit')
  assert.equal(
    [limit?.value, limit?.from, limit?.apply, limit?.plugin, limit?.variable],
    [7, 'SVC_PAGER_LIMIT', 'restart', 'pager', 'SVC_PAGER_LIMIT'],
  )
})

inForce('shows nothing that opens something', () => {
  const secrets = ['s3cret-path', 's3cret-user', 's3cret-file', 's3cret-inner']
  const text = [
    'pager:',
    '  url: https://s3cret-user:pw@host.example/s3cret-path?x=1',
    '  key: /s3cret-file',
    '  receivers:',
    '    - { name: one, url: "https://chat.example/s3cret-path", key: /s3cret-inner }',
    '    - { name: "two", url: "https://a@b@s3cret-user/" }',
    '',
  ].join('\n')
  const loaded = load(text, { sections: SECTIONS })
  const rows = settingsInForce(loaded, loaded.settings)
  const shown = JSON.stringify(rows)
  for (const secret of secrets) assert.not.ok(shown.includes(secret), secret)
  assert.is(rows.find(({ key }) => key === 'pager.url')?.value, 'https://host.example/***')
  assert.equal(rows.find(({ key }) => key === 'pager.receivers')?.value, [
    { name: 'one', url: 'https://chat.example/***', key: '***' },
    { name: 'two', url: 'https://***' },
  ])
})

inForce('says what counts from the next start on', () => {
  const before = load('pager: { limit: 1 }', { sections: SECTIONS })
  const after = load('pager: { limit: 2 }', { sections: SECTIONS })
  const waiting = settingsInForce(after, before.settings).filter(({ awaitsStart }) => awaitsStart)
  assert.equal(
    waiting.map(({ key, value }) => [key, value]),
    [['pager.limit', 1]],
  )
})

inForce.run()
