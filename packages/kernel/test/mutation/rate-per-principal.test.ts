import { onEachStore } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { ANN, benched, making, TOKEN } from './mutation-fixture.ts'

const rate = onEachStore('kernel/mutation/rate per principal', (test, store) => {
  const onBench = benched(test, store)
  onBench('counts each principal by itself', async (bench) => {
    bench.limits.toy_per_hour = 1
    const rateLimit = { name: 'toy_per_hour', cost: 1 }
    const first = await bench.mutations.run(making('a', { principal: ANN, rateLimit }))
    const second = await bench.mutations.run(making('b', { principal: TOKEN, rateLimit }))
    assert.is(first.rate?.remaining, 0)
    assert.is(second.rate?.remaining, 0, 'the same id as another kind of principal is somebody else')
    await bench.db.close()
  })

  onBench('lets a free request pass when the limit was lowered below what is used', async (bench) => {
    bench.limits.toy_per_hour = 3
    await bench.mutations.run(making('a', { rateLimit: { name: 'toy_per_hour', cost: 3 } }))
    bench.limits.toy_per_hour = 1
    const free = await bench.mutations.run(making('b', { rateLimit: { name: 'toy_per_hour', cost: 0 } }))
    assert.is(free.rate?.remaining, 0)
    await bench.db.close()
  })

  onBench('takes from a limit outside of a mutation, keeps it taken, and audits a refusal', async (bench) => {
    bench.limits.toy_per_hour = 3
    const of = { principal: ANN, action: 'toy.fill', target: 't', requestId: 'r-7' }
    await bench.mutations.take({ ...of, rateLimit: { name: 'toy_per_hour', cost: 2 } })
    const refused = await bench.mutations
      .take({ ...of, rateLimit: { name: 'toy_per_hour', cost: 2 } })
      .catch((error: { readonly code: string }) => error.code)
    assert.is(refused, 'rate_limited')
    const left = await bench.mutations.run(
      making('a', { principal: ANN, rateLimit: { name: 'toy_per_hour', cost: 1 } }),
    )
    assert.is(left.rate?.remaining, 0)
    const denied = await bench.db.get<{ outcome: string; request_id: string }>(
      "select outcome, request_id from kernel_audit where action = 'toy.fill'",
    )
    assert.equal({ ...denied }, { outcome: 'denied', request_id: 'r-7' })
    await bench.db.close()
  })
})

rate.run()
