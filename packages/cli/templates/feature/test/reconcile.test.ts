import { assert, fakeContext, memoryDb, suite } from '@steeple/testkit'
import { expiryReconciler } from '../src/reconcile.ts'
import { migrations, noteStore } from '../src/store.ts'

const expiry = suite('sample-plugin/reconcile')

expiry('keeps a note until its last millisecond and removes it then', async () => {
  const db = memoryDb(migrations)
  const { context, clock, mutations, dispose } = fakeContext({ id: 'sample-plugin', config: {}, db })
  const store = noteStore(db)
  const signal = new AbortController().signal
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
  const early = await reconciler.reconcile(['mast'], signal)
  assert.equal(early.get('mast'), { state: 'pending', afterMs: 1, reason: 'not expired yet' })

  await clock.advance(1)
  await reconciler.reconcile(['mast'], signal)
  await reconciler.reconcile(['mast'], signal)
  assert.is(await store.find('mast'), undefined)
  assert.equal(
    mutations.map(({ action, target }) => [action, target]),
    [['note.expire', 'mast']],
  )
  await dispose()
  db.close()
})

expiry.run()
