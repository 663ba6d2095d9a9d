import { isServiceError, loginFailed, type Reply } from '@steeple/contracts'
import { assert, fakeContext, suite } from '@steeple/testkit'
import { createFailureTrail } from '../src/people/people.ts'
import { tokenDb } from './helpers.ts'
import { fakeRequest } from './people-request.ts'

const trail = suite('access/failure-trail')

trail('writes sixty failures of a minute one by one and the rest in sum, and answers all alike', async () => {
  const db = tokenDb()
  const { context, clock, mutations } = fakeContext({ config: {}, db, id: 'access' })
  const failures = createFailureTrail(context)
  const written: string[] = []
  const request = fakeRequest(db, {})
  const noting: typeof request.mutate = (target, work): Promise<Reply> => {
    written.push(target)
    return request.mutate(target, work)
  }
  const fail = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      const failure = { target: 'nobody', network: 'here', error: loginFailed() }
      const end = failures.refuse({ mutate: noting }, failure)
      assert.is(await end.catch((error: unknown) => isServiceError(error) && error.code), 'login_failed')
    }
  }
  await fail(100)
  assert.is(written.length, 60)
  await failures.flush()
  await failures.flush()
  assert.equal(
    mutations.map(({ action, detail }) => [action, detail]),
    [['auth.flood', { failures: 40 }]],
  )
  await clock.advance(60_000)
  await fail(1)
  assert.is(written.length, 61)
})

trail.run()
