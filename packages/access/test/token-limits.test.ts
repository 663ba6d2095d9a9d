import { expandRoles, type Principal, type Role } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import type { TokenRequest } from '../src/new-token.ts'
import { withinMaker } from '../src/new-token.ts'

const limits = suite('access/token-limits')

const NOW_MS = 1_000_000
const asking = (roles: readonly Role[], livesMs?: number): TokenRequest => ({
  name: 'n',
  kind: 'api',
  roles,
  livesMs,
  nodeId: undefined,
  nodeName: undefined,
})
const maker = (kind: Principal['kind'], roles: readonly Role[], livesMs?: number): Principal => ({
  kind,
  id: 'm',
  name: 'm',
  roles: expandRoles(roles),
  ...(livesMs === undefined ? {} : { expiresAtMs: NOW_MS + livesMs }),
})

limits('gives no role that the maker lacks, also none inside another', () => {
  const operator = maker('token', ['operator'])
  assert.equal(withinMaker(asking(['viewer']), false, operator, NOW_MS).roles, ['viewer'])
  for (const roles of [['admin'], ['viewer', 'sim:issuer'], ['sim:admin']] as const) {
    assert.throws(
      () => withinMaker(asking(roles), false, operator, NOW_MS),
      (error: { code?: string }) => error.code === 'forbidden',
    )
  }
})

limits('ends no later than the token that made it', () => {
  const brief = maker('token', ['admin'], 20_000)
  assert.is(withinMaker(asking(['admin']), false, brief, NOW_MS).livesMs, 20_000)
  assert.is(withinMaker(asking(['admin'], 20_000), true, brief, NOW_MS).livesMs, 20_000)
  assert.throws(
    () => withinMaker(asking(['admin'], 20_001), true, brief, NOW_MS),
    (error: { code?: string; message?: string }) =>
      error.code === 'validation_failed' && /at most 20s/.test(error.message ?? ''),
  )
})

limits('shortens the usual life of a bootstrap token', () => {
  const usual: TokenRequest = { ...asking([], 86_400_000), kind: 'bootstrap' }
  const brief = maker('token', ['admin'], 20_000)
  assert.is(withinMaker(usual, false, brief, NOW_MS).livesMs, 20_000)
  assert.is(withinMaker(usual, false, maker('token', ['admin']), NOW_MS).livesMs, 86_400_000)
})

limits('leaves the life to people, the environment, and tokens without end', () => {
  for (const kind of ['user', 'admin-env'] as const) {
    assert.is(
      withinMaker(asking(['admin']), false, maker(kind, ['admin'], 20_000), NOW_MS).livesMs,
      undefined,
    )
  }
  assert.is(withinMaker(asking(['viewer'], 9e9), true, maker('token', ['admin']), NOW_MS).livesMs, 9e9)
})

limits.run()
