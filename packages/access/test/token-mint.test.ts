import { systemPrincipal } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { createAuthenticator, createLastUse } from '../src/authenticator.ts'
import { createLinks } from '../src/links/links.ts'
import { createTokenMint } from '../src/new-token.ts'
import { accessContext, tokenDb, UNBOUND } from './helpers.ts'

const minting = suite('access/token-mint')

minting('makes a token that authenticates, counts it, and audits it without its text', async () => {
  const db = tokenDb()
  const fake = accessContext(db)
  const mint = createTokenMint(fake.context, createLinks(fake.clock, ''))
  assert.is(await mint.count(), 0)
  const { id, token } = await mint.mint(systemPrincipal('cli'), 'first', ['admin'])
  assert.is(await mint.count(), 1)
  const lastUse = createLastUse(db)
  const authenticator = createAuthenticator({
    ...UNBOUND,
    reader: db,
    clock: fake.clock,
    lastUse,
    mayCache: () => true,
  })
  const principal = await authenticator.authenticate(token)
  assert.equal([principal?.id, principal?.roles.has('sim:issuer')], [id, true])
  assert.equal(
    fake.mutations.map(({ action, target, detail }) => ({ action, target, detail })),
    [{ action: 'token.create', target: id, detail: { name: 'first', kind: 'api', roles: ['admin'] } }],
  )
  assert.not.ok(JSON.stringify(await db.all('select * from access_token')).includes(token))
})

minting.run()
