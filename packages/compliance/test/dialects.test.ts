import type { ImsiHash } from '@steeple/contracts'
import { onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import {
  addCheckpoint,
  addMoves,
  checkpointsWithin,
  countErasures,
  ERASURES,
  type MoveRow,
  moveNumbers,
  movesBetween,
  openErasures,
  STANDINGS,
  TABLES,
  takeMoves,
} from '../src/store.ts'

const ANN = 'aaaaaaaaaaaa' as ImsiHash
const ALWAYS = { fromMs: 0, toMs: 1e15 }

function move(at_ms: number, more: Partial<MoveRow> = {}): Omit<MoveRow, 'seq'> {
  return {
    at_ms,
    kind: 'sim',
    subject: ANN,
    from_state: null,
    to_state: 'issued',
    reason: null,
    how: 'move',
    ...more,
  }
}

async function opened(box: StoreBox) {
  const db = await box.open()
  await db.migrate('compliance', MIGRATIONS, TABLES)
  return { scoped: db.scoped('compliance'), close: () => db.close() }
}

const each = onEachStore('the record', (test, store) => {
  test('numbers moves in their order, and knows where each subject stands', async () => {
    await using box = await store()
    const { scoped: db, close } = await opened(box)
    await db.write((tx) =>
      addMoves(tx, [move(10), move(20, { from_state: 'issued', to_state: 'suspended', reason: 'quota' })]),
    )
    await db.write((tx) => addMoves(tx, [move(30, { kind: 'lifecycle', subject: 'n', to_state: 'on_air' })]))
    assert.equal(await moveNumbers(db), { first: 1, last: 3 })
    const seqs = async (kind: MoveRow['kind'], span = ALWAYS, after = 0, upTo = 100) =>
      (await movesBetween(db, kind, span, after, upTo)).map(({ seq }) => seq)
    assert.equal(await seqs('sim'), [1, 2])
    assert.equal(await seqs('lifecycle'), [3])
    assert.equal(await seqs('sim', { fromMs: 11, toMs: 21 }), [2])
    assert.equal(await seqs('sim', { fromMs: 0, toMs: 20 }), [1])
    assert.equal(await seqs('sim', ALWAYS, 1), [2])
    assert.equal(await STANDINGS.find(db, { subject: ANN }), {
      subject: ANN,
      state: 'suspended',
      reason: 'quota',
    })
    await db.write((tx) => addMoves(tx, [move(40, { to_state: 'erased', how: 'erased' })]))
    assert.is(await STANDINGS.find(db, { subject: ANN }), undefined)
    await close()
  })

  test('gives no number twice, whatever is removed', async () => {
    await using box = await store()
    const { scoped: db, close } = await opened(box)
    await db.write((tx) => addMoves(tx, [move(10), move(20), move(30)]))
    const numbers = async (before: number): Promise<readonly number[]> =>
      (await db.write((tx) => takeMoves(tx, before, 10))).map(({ seq }) => seq)
    assert.equal(await numbers(20), [1])
    assert.equal(await numbers(1e15), [2], 'the last one stays')
    assert.equal(await numbers(1e15), [])
    await db.write((tx) => addMoves(tx, [move(40)]))
    assert.equal(await moveNumbers(db), { first: 3, last: 4 })
    await close()
  })

  test('keeps checkpoints, and erasures until they are done', async () => {
    await using box = await store()
    const { scoped: db, close } = await opened(box)
    const row = {
      kind: 'move',
      before_ms: 5,
      first_id: '1',
      last_id: '2',
      removed: 2,
      sha256: 'a',
      signature: 'b',
    } as const
    for (const at_ms of [10, 20, 30]) await db.write((tx) => addCheckpoint(tx, { at_ms, ...row }))
    const ids = (await checkpointsWithin(db, { fromMs: 10, toMs: 30 }, 0, 10)).map(({ id }) => id)
    assert.equal(ids, [1, 2])
    assert.equal(
      (await checkpointsWithin(db, ALWAYS, 1, 1)).map(({ id }) => id),
      [2],
    )
    await db.write((tx) => ERASURES.insert(tx, { subject: ANN, asked_at_ms: 1, asked_by: 'user:ann' }))
    assert.equal(
      [(await openErasures(db, '', 10)).map(({ subject }) => subject), await countErasures(db)],
      [[ANN], 1],
    )
    await db.write((tx) => ERASURES.remove(tx, { subject: ANN }))
    assert.equal(
      [(await openErasures(db, '', 10)).map(({ subject }) => subject), await countErasures(db)],
      [[], 0],
    )
    await close()
  })
})

each.run()
