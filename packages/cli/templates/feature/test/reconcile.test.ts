import { assert, fakeContext, memoryDb, reconcileOne, suite } from '@steeple/testkit'
import { expiryReconciler } from '../src/reconcile.ts'
import { migrations, noteStore } from '../src/store.ts'

const expiry = suite('sample-plugin/reconcile')

expiry('keeps a note until its last millisecond and removes it then', async () => {
  const db = memoryDb(migrations)
  const { context, clock, mutations, dispose } = fakeContext({ id: 'sample-plugin', config: {}, db })
  const store = noteStore(db)
  const written_at = clock.nowMs()
  await db.write((tx) =>
    store.put(tx, {
      name: 'mast',
      body: 'ladder is wet',
      written_by: 'op',
      written_at,
      expires_at: written_at + 5000,
    }),
  )
  const reconciler = expiryReconciler(context, store)
  assert.equal(await reconciler.keys(), ['mast'])

  await clock.advance(4999)
  assert.equal(await reconcileOne(reconciler, 'mast'), {
    state: 'pending',
    afterMs: 1,
    reason: 'not expired yet',
  })

  await clock.advance(1)
  await reconcileOne(reconciler, 'mast')
  assert.equal(await reconcileOne(reconciler, 'mast'), { state: 'converged' })
  assert.is(await store.find('mast'), undefined)
  assert.equal(
    mutations.map(({ action, target }) => [action, target]),
    [['note.expire', 'mast']],
  )
  await dispose()
  db.close()
})

expiry.run()
