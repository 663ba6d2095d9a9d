import { inspect } from 'node:util'
import { assert, suite } from '@steeple/testkit'
import { Int32, Long } from 'bson'
import fc from 'fast-check'
import { addedBy, commandsIn, deletedBy, listedBy, matchedBy } from '../../src/dbctl/output.ts'
import { parseShown } from '../../src/dbctl/shown-value.ts'

const output = suite('driver-hss/dbctl/output')
/** As recorded. */
const ADDED = "{\n  acknowledged: true,\n  insertedId: ObjectId('6b00336d94c05ec68f531651')\n}\n"
const DUPLICATE =
  'MongoServerError: E11000 duplicate key error collection: open5gs.subscribers index: imsi_1 dup key: { imsi: "9" }\n'
const NO_CONNECTION = 'MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27999\n'

output('reads the recorded answers', () => {
  assert.is(addedBy(ADDED), 'added')
  assert.is(addedBy(DUPLICATE), 'exists')
  assert.is(deletedBy('{ acknowledged: true, deletedCount: 0 }\n'), 0)
  assert.is(matchedBy('{\n  acknowledged: true,\n  insertedId: null,\n  matchedCount: 1,\n'), 1)
  for (const read of [addedBy, deletedBy, matchedBy, listedBy]) assert.throws(() => read(NO_CONNECTION))
})

output('reads a listing, and whether it is cut', () => {
  assert.equal(listedBy('\n'), { docs: [], isCut: false })
  const listing = listedBy(
    "[\n  { _id: ObjectId('aa'), imsi: '1', security: { sqn: Long('32') }, n: 5 }\n]\nType \"it\" for more\n",
  )
  assert.is(listing.isCut, true)
  assert.equal(listing.docs, [
    { _id: 'aa', imsi: '1', security: { sqn: Long.fromNumber(32) }, n: new Int32(5) },
  ])
})

output('reads every document as mongosh prints it', () => {
  const leaf = fc.oneof(
    fc.boolean(),
    fc.constant(null),
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
  )
  const key = fc.stringMatching(/^[a-z_][a-z0-9_]{0,12}$/)
  const { doc } = fc.letrec<{ doc: Record<string, unknown>; value: unknown }>((tie) => ({
    doc: fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }),
    value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(leaf, { maxLength: 8 }), tie('doc')),
  }))
  fc.assert(
    fc.property(doc, (value) => {
      const shown = inspect(value, {
        depth: null,
        breakLength: 76,
        maxStringLength: null,
        maxArrayLength: null,
      })
      assert.equal(JSON.stringify(parseShown(shown)), JSON.stringify(value))
    }),
  )
})

output('survives anything', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[[\]{}(),:'"a1 ]*$/)), (text) => {
      parseShown(text)
      commandsIn(text)
    }),
  )
})

output('reads the commands of a help text', () => {
  const help = '   add {imsi key opc}: adds\n   reset: WIPES\n   block {imsi}: bars\nother text\n'
  assert.equal([...commandsIn(help)], ['add', 'reset', 'block'])
})

output.run()
