import { assert, suite } from '@steeple/testkit'
import { collectionProblem } from '../src/lane.ts'

const check = suite('collectors/collection-check')

check('gives others a turn however long a list is', async () => {
  const seen = { most: 0, inTurn: 0 }
  const row = {
    key: { by: 'address', address: '10.45.0.2' },
    get upBytes() {
      if (seen.inTurn === 0)
        setImmediate(() => {
          seen.most = Math.max(seen.most, seen.inTurn)
          seen.inTurn = 0
        })
      seen.inTurn += 1
      return 1
    },
    downBytes: 0,
    fromMs: 0,
    toMs: 1,
    count: 'delta',
    isIncomplete: false,
  }
  const rows = 500_000
  const volumes = Array.from({ length: rows }, () => row)
  assert.is(await collectionProblem({ sightings: [], isWhole: false, volumes }), undefined)
  assert.ok(seen.most < rows, `${seen.most} looked at in one turn`)
  const wrong = [...volumes.slice(1), { ...row, toMs: -1 }]
  assert.match(
    (await collectionProblem({ sightings: [], isWhole: false, volumes: wrong })) ?? '',
    /^volumes[.]499999: its span ends/,
  )
})

check('knows the forms of a count', async () => {
  const of = (count: unknown): Promise<string | undefined> => {
    const key = { by: 'address', address: '10.45.0.2' }
    const row = { key, upBytes: 1, downBytes: 0, fromMs: 0, toMs: 1, count, isIncomplete: false }
    return collectionProblem({ sightings: [], isWhole: false, volumes: [row] })
  }
  const total = { counter: '10.45.0.2', generation: 'g1' }
  for (const right of ['delta', total, { ...total, isBeginning: true }, { ...total, isBeginning: false }])
    assert.is(await of(right), undefined)
  for (const wrong of ['total', {}, { ...total, generation: '' }, { ...total, isBeginning: 'yes' }])
    assert.match((await of(wrong)) ?? '', /count is neither delta nor a counter/)
})

check.run()
