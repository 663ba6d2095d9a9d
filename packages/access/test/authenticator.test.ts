import { isServiceError } from '@steeple/contracts'
import { assert, cpuMs, fakeClock, suite } from '@steeple/testkit'
import { createAuthenticator, createLastUse } from '../src/authenticator.ts'
import { lastUseOf, removeToken } from '../src/token-store.ts'
import { storedToken, tokenDb, UNBOUND } from './helpers.ts'

const authentication = suite('access/authenticator')

function parts(mayCache = true) {
  const db = tokenDb()
  const clock = fakeClock(1_000_000)
  const lastUse = createLastUse(db)
  const authenticator = createAuthenticator({
    ...UNBOUND,
    reader: db,
    clock,
    lastUse,
    mayCache: () => mayCache,
  })
  return { db, clock, lastUse, authenticator }
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (isServiceError(error) ? error.code : String(error)),
  )
}

authentication('knows a live token and expands its roles', async () => {
  const { db, authenticator } = parts()
  const { token } = await storedToken(db, { id: 'a', name: 'ci' }, ['operator'])
  const principal = await authenticator.authenticate(token)
  assert.equal([principal?.kind, principal?.id, principal?.name], ['token', 'a', 'ci'])
  assert.equal([...(principal?.roles ?? [])].toSorted(), ['operator', 'viewer'])
})

authentication('knows neither strangers nor bootstrap tokens', async () => {
  const { db, authenticator } = parts()
  const { token } = await storedToken(db, { id: 'b', kind: 'bootstrap' })
  for (const text of [token, 'svc_nonsense', `svc_${'A'.repeat(43)}`, '']) {
    assert.is(await authenticator.authenticate(text), undefined)
  }
})

authentication('answers token_expired from the millisecond of the end on, cached or not', async () => {
  for (const mayCache of [true, false]) {
    const { db, clock, authenticator } = parts(mayCache)
    const { token } = await storedToken(db, { id: 'a', expires_at_ms: 1_000_010 })
    await clock.advance(9)
    assert.is((await authenticator.authenticate(token))?.id, 'a')
    await clock.advance(1)
    assert.is(await codeOf(authenticator.authenticate(token)), 'token_expired')
    assert.is(await codeOf(authenticator.authenticate(token)), 'token_expired')
  }
})

authentication('does not know a deleted token, whether it was cached or being read meanwhile', async () => {
  const { db, authenticator } = parts()
  const { token, row } = await storedToken(db, { id: 'a' })
  const reading = authenticator.authenticate(token)
  await db.write(async (tx) => {
    await removeToken(tx, 'a')
    tx.afterCommit(() => authenticator.forget(row.token_sha256))
  })
  await reading
  assert.is(await authenticator.authenticate(token), undefined)
})

authentication('does not let a read from before a deletion into the cache', async () => {
  const db = tokenDb()
  const { token, row } = await storedToken(db, { id: 'a' })
  const clock = fakeClock()
  const gate = Promise.withResolvers<void>()
  const slowReader: Pick<typeof db, 'get' | 'all'> = {
    get: db.get,
    all: async (sql, params) => {
      const rows = await db.all<never>(sql, params)
      await gate.promise
      return rows
    },
  }
  const authenticator = createAuthenticator({
    ...UNBOUND,
    reader: slowReader,
    clock,
    lastUse: createLastUse(db),
    mayCache: () => true,
  })
  const reading = authenticator.authenticate(token)
  await db.write(async (tx) => {
    await removeToken(tx, 'a')
    tx.afterCommit(() => authenticator.forget(row.token_sha256))
  })
  gate.resolve()
  assert.is((await reading)?.id, 'a')
  assert.is(await authenticator.authenticate(token), undefined)
})

authentication('reads the store each time when it may not cache', async () => {
  const { db, authenticator } = parts(false)
  const { token } = await storedToken(db, { id: 'a' })
  assert.is((await authenticator.authenticate(token))?.id, 'a')
  await db.write((tx) => removeToken(tx, 'a'))
  assert.is(await authenticator.authenticate(token), undefined)
})

authentication('refuses a row that was changed on the disk', async () => {
  const { db, authenticator } = parts()
  const { token } = await storedToken(db, { id: 'a' }, ['viewer'])
  db.exec(`update access_token set roles = '["admin"]'`)
  assert.is(await codeOf(authenticator.authenticate(token)), 'store_corrupt')
})

authentication('writes the last use once per flush and never backwards', async () => {
  const { db, clock, lastUse, authenticator } = parts()
  const { token } = await storedToken(db, { id: 'a' })
  await authenticator.authenticate(token)
  assert.equal([await lastUseOf(db, 'a'), await lastUse.of('a')], [undefined, 1_000_000])
  await lastUse.flush()
  assert.is(await lastUseOf(db, 'a'), 1_000_000)
  clock.jump(500)
  await authenticator.authenticate(token)
  await lastUse.flush()
  assert.is(await lastUseOf(db, 'a'), 1_000_000)
})

authentication('keeps no use of a deleted token', async () => {
  const { db, lastUse, authenticator } = parts()
  const { token } = await storedToken(db, { id: 'a' })
  await authenticator.authenticate(token)
  await db.write((tx) => removeToken(tx, 'a'))
  await lastUse.flush()
  assert.equal(await db.all('select * from access_token_use'), [])
})

authentication('checks a cached token in less than 0.1 ms', async () => {
  const { db, authenticator } = parts()
  const { token } = await storedToken(db, { id: 'a' })
  await authenticator.authenticate(token)
  const rounds = 5_000
  const startMs = cpuMs()
  for (let round = 0; round < rounds; round += 1) await authenticator.authenticate(token)
  assert.ok((cpuMs() - startMs) / rounds < 0.1)
})

authentication.run()
