import type { HssDriver, Imsi } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { batchCancel } from '../src/kick/kick.ts'
import { phone } from './support/phones.ts'

const batch = suite('driver-core-a/batch-cancel')
const never = new AbortController().signal
const imsis = Array.from({ length: 100 }, (_, n) => phone(n).imsi)

batch('makes one request of all that comes while another is out', async () => {
  const calls: (readonly Imsi[])[] = []
  const first = Promise.withResolvers<void>()
  const cancelLocation: NonNullable<HssDriver['cancelLocation']> = async (asked) => {
    calls.push(asked)
    if (calls.length === 1) await first.promise
    return new Map(asked.map((imsi) => [imsi, undefined]))
  }
  const cancel = batchCancel(() => ({ cancelLocation }) as HssDriver, never) // nothing else of it is used
  const [one, ...others] = imsis
  assert.ok(one !== undefined)
  const answers = [cancel(one, never)]
  await eventually(() => calls.length === 1)
  for (const imsi of others) {
    answers.push(cancel(imsi, never))
    await new Promise((turn) => setImmediate(turn))
  }
  first.resolve()
  assert.ok((await Promise.all(answers)).every((isCancelled) => isCancelled))
  assert.equal(calls, [[one], others])
})

batch('asks again after a request that failed, and fails only those who were in it', async () => {
  let count = 0
  const cancelLocation: NonNullable<HssDriver['cancelLocation']> = async (asked) => {
    count += 1
    if (count === 1) throw new Error('the database does not answer')
    return new Map(asked.map((imsi) => [imsi, undefined]))
  }
  const cancel = batchCancel(() => ({ cancelLocation }) as HssDriver, never) // nothing else of it is used
  const [one, other] = imsis
  assert.ok(one !== undefined && other !== undefined)
  const problem = await cancel(one, never).catch((error: unknown) => error)
  assert.match(String(problem), 'the database does not answer')
  assert.is(await cancel(other, never), true)
})

batch.run()
