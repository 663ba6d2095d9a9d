import { type AuthenticatedPrincipal, authenticatorRef, expandRoles } from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import { createMemo } from '../src/pipeline/authenticate.ts'
import { fakeKernel } from './world/fake-kernel.ts'

const memo = suite('api/principal memo')

const ANN: AuthenticatedPrincipal = { kind: 'token', id: 't-1', name: 'ann', roles: expandRoles(['viewer']) }

function bench(): {
  readonly clock: ReturnType<typeof fakeClock>
  readonly authenticator: { epoch: object | undefined; authenticate: () => Promise<undefined> }
  readonly memo: ReturnType<typeof createMemo>
} {
  const clock = fakeClock()
  const kernel = { ...fakeKernel(), clock }
  const authenticator = { epoch: {} as object | undefined, authenticate: async () => undefined }
  kernel.services.set(authenticatorRef.id, authenticator)
  return { clock, authenticator, memo: createMemo(kernel) }
}

memo('gives an answer again for the same header within a second', async () => {
  const { memo: kept, authenticator, clock } = bench()
  kept.keep('Bearer a', ANN, authenticator.epoch)
  assert.is(kept.recall('Bearer a'), ANN)
  assert.is(kept.recall('Bearer b'), undefined)
  assert.is(kept.recall(undefined), undefined)
  await clock.advance(1_000)
  assert.is(kept.recall('Bearer a'), undefined)
})

memo('forgets at once when something was revoked, also while the question was asked', () => {
  const { memo: kept, authenticator } = bench()
  const before = authenticator.epoch
  kept.keep('Bearer a', ANN, before)
  authenticator.epoch = {}
  assert.is(kept.recall('Bearer a'), undefined)
  kept.keep('Bearer a', ANN, before)
  assert.is(kept.recall('Bearer a'), undefined)
})

memo('never outlives the credential', async () => {
  const { memo: kept, authenticator, clock } = bench()
  kept.keep('Bearer a', { ...ANN, expiresAtMs: clock.nowMs() + 300 }, authenticator.epoch)
  assert.ok(kept.recall('Bearer a'))
  await clock.advance(300)
  assert.is(kept.recall('Bearer a'), undefined)
})

memo('keeps nothing while the authenticator wants to be asked each time', () => {
  const { memo: kept, authenticator } = bench()
  authenticator.epoch = undefined
  kept.keep('Bearer a', ANN, authenticator.epoch)
  assert.is(kept.recall('Bearer a'), undefined)
})

memo.run()
