import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import * as contracts from '../src/index.ts'
import { type ServiceRef, shapeOf } from '../src/index.ts'

const shapes = suite('contracts/service-shapes')

shapes('know every service that plugins provide', () => {
  const all: readonly unknown[] = Object.values(contracts)
  const refs = all
    .filter((value): value is ServiceRef<object> => Object(value) === value && 'id' in Object(value))
    .filter(({ id }) => !id.startsWith('kernel.'))
  assert.ok(refs.length > 8)
  for (const { id, shape } of refs) {
    assert.ok(shape !== undefined, `${id} has a shape`)
    assert.is(shapeOf(id), shape, id)
  }
  assert.equal(shapeOf('collector.of-mine'), { source: 'string', poll: 'function', health: 'function?' })
  assert.is(shapeOf('mine.own'), undefined)
})

shapes.run()
