import { closedItemsRef, isServiceError, nodeIdentityRef, systemPrincipal } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, suite } from '@steeple/testkit'
import { createBootstrapTokens } from '../src/token-routes.ts'
import { TOKENS } from '../src/token-store.ts'
import { CA_SHA256, NODE_ID, NONE_CLOSED, storedToken, tokenDb, UNBOUND } from './helpers.ts'

const bootstrap = suite('access/bootstrap-tokens')

async function setting(over: { readonly node_id?: string } = {}) {
  const db = tokenDb()
  const clock = fakeClock(1_000)
  const { token } = await storedToken(db, { id: 'b', kind: 'bootstrap', expires_at_ms: 301_000, ...over })
  const services = new Map<string, object>([
    [nodeIdentityRef.id, { caSha256: CA_SHA256 }],
    [closedItemsRef.id, NONE_CLOSED],
  ])
  const { context } = fakeContext({ config: {}, id: 'access', db, clock, services })
  const tokens = createBootstrapTokens(context, UNBOUND.isBoundAlive)
  const isRefused = async (work: Promise<unknown>): Promise<boolean> =>
    work.then(
      () => false,
      (error: unknown) => isServiceError(error) && error.code === 'bootstrap_token_invalid',
    )
  return { db, clock, token, tokens, isRefused }
}

bootstrap('fits any node unless it is bound, and checking changes nothing', async () => {
  const { db, token, tokens } = await setting()
  assert.equal(await tokens.check(token, NODE_ID), { id: 'b', roles: [], isUsed: false })
  assert.equal(await tokens.check(token, 'another'), { id: 'b', roles: [], isUsed: false })
  assert.is((await TOKENS.find(db, { id: 'b' }))?.used_at_ms, null)
})

bootstrap('fits only its node when it is bound', async () => {
  const { db, token, tokens, isRefused } = await setting({ node_id: NODE_ID })
  assert.equal(await tokens.check(token, NODE_ID), { id: 'b', roles: [], isUsed: false })
  assert.ok(await isRefused(tokens.check(token, 'another')))
  assert.ok(await isRefused(db.write((tx) => tokens.burn(tx, token, 'another'))))
})

bootstrap('works once', async () => {
  const { db, token, tokens, isRefused } = await setting()
  await db.write((tx) => tokens.burn(tx, token, NODE_ID))
  assert.is((await TOKENS.find(db, { id: 'b' }))?.used_at_ms, 1_000)
  assert.ok(await isRefused(db.write((tx) => tokens.burn(tx, token, NODE_ID))))
  assert.ok(await isRefused(tokens.check(token, 'another')))
})

bootstrap('lets the node that used it ask again, as long as it lasts', async () => {
  const { db, clock, token, tokens, isRefused } = await setting()
  await db.write((tx) => tokens.burn(tx, token, NODE_ID))
  assert.equal(await tokens.check(token, NODE_ID), { id: 'b', roles: [], isUsed: true })
  await clock.advance(300_000)
  assert.ok(await isRefused(tokens.check(token, NODE_ID)))
})

bootstrap('is made for an invitation, for no longer than the configuration says', async () => {
  const { db, tokens } = await setting()
  const made = await db.write((tx) =>
    tokens.mint(tx, systemPrincipal('test'), { name: 'box', nodeId: NODE_ID, livesMs: 86_400_000 }),
  )
  assert.is(made.expiresAtMs, 301_000)
  assert.is((await tokens.check(made.token, NODE_ID)).id, made.id)
})

bootstrap('stays unused when the transaction that burns it fails', async () => {
  const { db, token, tokens } = await setting()
  await db
    .write(async (tx) => {
      await tokens.burn(tx, token, NODE_ID)
      throw new Error('the certificate could not be made')
    })
    .catch(() => undefined)
  assert.equal(await tokens.check(token, NODE_ID), { id: 'b', roles: [], isUsed: false })
})

bootstrap('is refused when it is expired, unknown or an api token', async () => {
  const { db, clock, token, tokens, isRefused } = await setting()
  const api = await storedToken(db, { id: 'a' })
  assert.ok(await isRefused(tokens.check(api.token, NODE_ID)))
  assert.ok(await isRefused(tokens.check(`svcb_${'0'.repeat(32)}_${'A'.repeat(43)}`, NODE_ID)))
  await clock.advance(300_000)
  assert.ok(await isRefused(tokens.check(token, NODE_ID)))
})

bootstrap.run()
