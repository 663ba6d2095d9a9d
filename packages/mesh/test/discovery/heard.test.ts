import { assert, suite } from '@steeple/testkit'
import { allowance, HEARD_LIMIT, heardNodes, PER_ADDRESS } from '../../src/discovery/discovery.ts'
import type { Suggestion } from '../../src/suggestions.ts'

const keeping = suite('mesh/discovery/heard')

function suggestion(id: string, address: string, heardAtMs = 0): Suggestion {
  return { id, nodeId: id, name: id, meshName: 'm', address, port: 1, fingerprint: 'ab', heardAtMs }
}

keeping('is not filled by one address, nor by thousands beyond its limit', () => {
  const heard = heardNodes()
  heard.add(suggestion('real', '192.0.2.1'))
  for (let at = 0; at < 1_000; at += 1) heard.add(suggestion(`same ${at}`, '192.0.2.66'))
  assert.is(heard.list().length, 1 + PER_ADDRESS)
  for (let at = 0; at < 10_000; at += 1) heard.add(suggestion(`forged ${at}`, `10.0.${at >> 8}.${at & 255}`))
  assert.is(heard.list().length, HEARD_LIMIT)
  assert.ok(heard.get('real'), 'who was there first stays')
})

keeping('forgets who is not heard any more, and remembers who is', () => {
  const heard = heardNodes()
  heard.add(suggestion('one', '192.0.2.1', 0))
  heard.add(suggestion('two', '192.0.2.2', 0))
  heard.add(suggestion('one', '192.0.2.1', 100))
  heard.forget(50)
  assert.equal(
    heard.list().map(({ id }) => id),
    ['one'],
  )
})

keeping('keeps of a node in one place what it said last', () => {
  const heard = heardNodes()
  const before = { ...suggestion('before', '192.0.2.1'), nodeId: 'box', fingerprint: 'aa' }
  heard.add(before)
  heard.add({ ...before, id: 'elsewhere', address: '192.0.2.2' })
  heard.add({ ...before, id: 'now', fingerprint: 'bb' })
  assert.equal(
    heard.list().map(({ id }) => id),
    ['elsewhere', 'now'],
  )
})

keeping('lets so many messages through at once, and so many a second', () => {
  const mayRead = allowance(10, 2)
  const taken = (atMs: number, count: number): number =>
    Array.from({ length: count }, () => mayRead(atMs)).filter(Boolean).length
  assert.is(taken(1_000_000, 50), 10)
  assert.is(taken(1_000_000, 50), 0)
  assert.is(taken(1_002_000, 50), 4)
  assert.is(taken(1_001_000, 50), 0, 'a clock that goes back gives nothing')
  assert.is(taken(9_000_000, 50), 10)
})

keeping.run()
