import { assert, suite } from '@steeple/testkit'
import { withTwo } from '../harness/cluster/fleet.ts'
import { PG_URL } from '../harness/cluster/own-schema.ts'
import { addPerson, enter, goOn, post } from '../harness/people.ts'
import type { Service } from '../harness/service.ts'

const people = suite('e2e/people-postgres')

async function statusAt(service: Service, token: string, path = '/v1/auth/sessions'): Promise<number> {
  return (await service.request('GET', path, { token })).status
}

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => String(error),
  )

if (PG_URL === '') process.stdout.write('needs SVC_TEST_PG_URL\n')
else {
  people('are the same people at every instance, and lose at all what they lose at one', () =>
    withTwo(async (a, b) => {
      const ada = await addPerson(a, 'ada', ['operator'])
      const first = await enter(b, ada)
      assert.equal([await statusAt(a, first.token), await statusAt(b, first.token)], [200, 200])
      const second = await goOn(a, first)
      const third = await goOn(b, second)
      assert.match(await refusal(goOn(a, second)), /401/)
      for (const at of [a, b]) assert.is(await statusAt(at, third.token), 401)
      const [one = '', two = '', three = ''] = ada.recovery_codes
      const { token, cookie } = await enter(a, ada, one)
      assert.match(await refusal(enter(b, ada, one)), /401/)
      assert.is(await statusAt(b, token, '/v1/audit'), 200)
      const path = `/v1/users/${ada.id}`
      const changed = await a.request('POST', `${path}/roles`, { body: { roles: ['viewer'] } })
      assert.is(changed.status, 200)
      assert.is(await statusAt(b, token, '/v1/audit'), 403)
      assert.is((await post(b, '/v1/auth/logout', { cookie })).status, 204)
      assert.is(await statusAt(a, token), 401)
      const last = await enter(b, ada, two)
      assert.is((await a.request('DELETE', path)).status, 204)
      for (const at of [a, b]) assert.is(await statusAt(at, last.token), 401)
      assert.match(await refusal(enter(b, ada, three)), /401/)
    }),
  )

  people('have a code taken once, and five tries, however many instances are asked at the same time', () =>
    withTwo(async (a, b) => {
      const bob = await addPerson(a, 'bob', ['viewer'])
      const [code = ''] = bob.recovery_codes
      const ends = await Promise.all([a, b, a, b].map((at) => refusal(enter(at, bob, code))))
      assert.is(ends.filter((end) => end === 'none').length, 1, ends.join('\n'))
      const wrong = { username: 'nobody', password: 'wrong', code: '000000' }
      const statuses: number[] = []
      for (let round = 0; round < 8; round += 1)
        statuses.push((await post(round % 2 === 0 ? a : b, '/v1/auth/login', { body: wrong })).status)
      // What failed with the code of before may count, too.
      assert.equal(statuses.slice(5), [429, 429, 429], statuses.join())
      assert.is(statuses[0], 401)
    }),
  )
}

people.run()
