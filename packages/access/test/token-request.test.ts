import { isServiceError } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { type TokenBody, tokenRequestFrom } from '../src/new-token.ts'

const requests = suite('access/token-request')

function pointers(body: TokenBody): readonly string[] {
  try {
    tokenRequestFrom(body, '5m')
    return []
  } catch (error) {
    assert.ok(isServiceError(error))
    assert.is(error.code, 'validation_failed')
    return (error.details ?? []).map((detail) => detail.pointer)
  }
}

requests('takes an api token with roles, with and without an end', () => {
  const asked = { name: 'ci', kind: 'api', roles: ['viewer'], nodeId: undefined, nodeName: undefined }
  assert.equal(tokenRequestFrom({ name: 'ci', roles: ['viewer'] }, '5m'), { ...asked, livesMs: undefined })
  assert.equal(tokenRequestFrom({ name: 'ci', roles: ['viewer'], expires_in: '1h30m' }, '5m'), {
    ...asked,
    livesMs: 5_400_000,
  })
})

requests('takes one role by its name alone, and not beside a list', () => {
  assert.equal(tokenRequestFrom({ name: 'ci', role: 'viewer' }, '5m').roles, ['viewer'])
  assert.equal(pointers({ name: 'ci', role: 'viewer', roles: ['viewer'] }), ['/role'])
})

requests('gives a bootstrap token the configured life, or a shorter one', () => {
  assert.is(tokenRequestFrom({ name: 'n', kind: 'bootstrap' }, '5m').livesMs, 300_000)
  assert.is(tokenRequestFrom({ name: 'n', kind: 'bootstrap', expires_in: '90s' }, '5m').livesMs, 90_000)
})

requests('names every part that does not fit the kind', () => {
  assert.equal(pointers({ name: 'n', node_id: 'x', node_name: 'y' }), ['/roles', '/node_id', '/node_name'])
  assert.equal(pointers({ name: 'n', kind: 'bootstrap', roles: ['admin'], expires_in: '6m' }), [
    '/roles',
    '/expires_in',
  ])
  assert.equal(pointers({ name: 'n', roles: ['viewer'], expires_in: '0s' }), ['/expires_in'])
  assert.equal(pointers({ name: 'n', roles: ['viewer'], expires_in: '101y' }), ['/expires_in'])
})

requests.run()
