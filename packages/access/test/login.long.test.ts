import { isServiceError } from '@steeple/contracts'
import { assert, type FakeClock, fakeClock, type MemoryDb, suite } from '@steeple/testkit'
import { type LoginBody, login } from '../src/people/login.ts'
import { hashPassword } from '../src/people/password.ts'
import { createPeople, type People } from '../src/people/people.ts'
import { drawUser } from '../src/people/user-life.ts'
import type { UserRow } from '../src/people/user-store.ts'
import { mustFindUser, USERS } from '../src/people/user-store.ts'
import { accessContext, tokenDb } from './helpers.ts'
import { codeAt } from './people-helpers.ts'
import { fakeRequest } from './people-request.ts'

const logins = suite('access/login')
const PASSWORD = 'correct horse battery'

interface World {
  readonly db: MemoryDb
  readonly clock: FakeClock
  readonly people: People
  readonly user: UserRow
  body(over?: Partial<LoginBody>): LoginBody
  enter(body: LoginBody): Promise<string>
}

async function world(): Promise<World> {
  const db = tokenDb()
  const clock = fakeClock(Date.UTC(2026, 5, 1))
  const { context } = accessContext(db, clock)
  const people = createPeople(context, () => undefined)
  const made = await drawUser(people, { name: 'ada', roles: ['viewer'], password: PASSWORD, createdBy: '{}' })
  await db.write((tx) => made.store(tx))
  return {
    db,
    clock,
    people,
    user: await mustFindUser(db, made.id),
    body: (over) => ({
      username: 'ada',
      password: PASSWORD,
      code: codeAt(made.totpUri, clock.nowMs()),
      ...over,
    }),
    enter: (body) =>
      login(people, fakeRequest(db, body)).then(
        () => 'in',
        (error: unknown) => (isServiceError(error) ? error.code : String(error)),
      ),
  }
}

logins('raises the cost of a hash at the next login, and not before it', async () => {
  const { db, user, body, enter } = await world()
  const low = { ...user, password_hash: await hashPassword(PASSWORD, { n: 16, r: 1, p: 1 }) }
  await db.write((tx) => USERS.put(tx, low))
  assert.is(await enter(body({ password: 'wrong' })), 'login_failed')
  assert.is((await USERS.find(db, { id: user.id }))?.password_hash, low.password_hash)
  assert.is(await enter(body()), 'in')
  assert.match((await USERS.find(db, { id: user.id }))?.password_hash ?? '', /^\$scrypt\$n=32768,r=8,p=3\$/)
  const [recovery] = await db.all<{ readonly codes: number }>(
    'select count(*) as codes from access_recovery_code',
  )
  assert.is(recovery?.codes, 10)
})

logins('keeps the code of who has left while it was checked, and counts no failure', async () => {
  const { db, people, body, enter } = await world()
  const leave = async (over?: Partial<LoginBody>): Promise<unknown> => {
    const left = { ...fakeRequest(db, body(over)), signal: AbortSignal.abort() }
    return await login(people, left).catch((error: Error) => error.name)
  }
  const wrong = { code: '000000' }
  for (let count = 0; count < 2; count += 1) assert.is(await enter(body(wrong)), 'login_failed')
  for (let count = 0; count < 3; count += 1) assert.is(await leave(), 'AbortError')
  // Failures stay, and so does one that somebody leaves behind.
  await leave(wrong)
  assert.equal(await db.all('select failures from access_login_failure'), [{ failures: 3 }])
  assert.equal(await db.all('select * from access_known_network'), [])
  assert.is(await enter(body()), 'in')
})

logins('lets nobody in by what was right while it was checked, and is no more', async () => {
  const { db, people, user, body } = await world()
  const gate: People['gate'] = {
    ...people.gate,
    run: async (visitor, work) => {
      const result = await people.gate.run(visitor, work)
      // Somebody else resets the user at this very moment.
      await db.write((tx) => USERS.put(tx, { ...user, password_hash: 'another' }))
      return result
    },
  }
  const late = login({ ...people, gate }, fakeRequest(db, body()))
  assert.is(await late.catch((error: { readonly code: string }) => error.code), 'login_failed')
  assert.equal(await db.all('select * from access_session'), [])
})

logins('counts what fails, and lets a right one in again when the lock is over', async () => {
  const { clock, body, enter } = await world()
  const wrong = body({ code: '000000' })
  for (let count = 0; count < 5; count += 1) assert.is(await enter(wrong), 'login_failed')
  assert.is(await enter(body()), 'rate_limited')
  await clock.advance(900_000)
  assert.is(await enter(body()), 'in')
})

logins.run()
