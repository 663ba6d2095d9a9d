import { assert, fakeClock, suite } from '@steeple/testkit'
import { sharedList } from '../../src/free5gc-oam/shared-list.ts'

const shared = suite('free5gc-oam/shared list')

const patient = (): AbortSignal => new AbortController().signal

shared('asks once for all who come while it asks, and anew for who comes later', async () => {
  let asked = 0
  const list = sharedList(fakeClock(), async () => {
    asked += 1
    return []
  })
  await Promise.all([list.recent(0, patient()), list.recent(0, patient()), list.recent(1, patient())])
  assert.is(asked, 1)
  await list.recent(0, patient())
  assert.is(asked, 2)
})

shared(
  'gives the last list to who does not need it fresher, with the time at which it was asked for',
  async () => {
    let asked = 0
    const clock = fakeClock()
    const list = sharedList(clock, async () => {
      asked += 1
      return []
    })
    const { askedMs } = await list.recent(0, patient())
    await clock.advance(5_000)
    assert.is((await list.recent(5_000, patient())).askedMs, askedMs)
    assert.is((await list.recent(4_999, patient())).askedMs, askedMs + 5_000)
    assert.is(asked, 2)
  },
)

shared('keeps no failure: the next who comes asks again', async () => {
  const answers = [new Error('away'), undefined]
  const list = sharedList(fakeClock(), async () => {
    const failure = answers.shift()
    if (failure !== undefined) throw failure
    return []
  })
  const words = await list.recent(0, patient()).then(
    () => 'given',
    (error) => error.message,
  )
  assert.is(words, 'away')
  assert.equal((await list.recent(10_000, patient())).registrations, [])
})

shared.run()
