import { inspect } from 'node:util'
import { assert, suite } from '@steeple/testkit'
import { Int32, Long } from 'bson'
import fc from 'fast-check'
import type { Ran } from '../../src/dbctl/run-tool.ts'
import { failureIn } from '../../src/dbctl/run-tool.ts'
import { addedBy, deletedBy, helpBy, listedBy, matchedBy, parseShown } from '../../src/dbctl/tool.ts'

const output = suite('driver-hss/dbctl/output')
const ran = (output: string, errors = '', code = 0): Ran => ({ output, errors, code })
/** As recorded. */
const ADDED = "{\n  acknowledged: true,\n  insertedId: ObjectId('6b00336d94c05ec68f531651')\n}\n"
const DUPLICATE =
  'MongoServerError: E11000 duplicate key error collection: open5gs.subscribers index: imsi_1 dup key: { imsi: "9" }\n'
const NO_CONNECTION = 'MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27999\n'

output('reads the recorded answers', () => {
  assert.is(addedBy(ran(ADDED)), 'added')
  // mongosh names it on standard error.
  assert.is(addedBy(ran('', DUPLICATE, 1)), 'exists')
  assert.is(addedBy(ran(DUPLICATE)), 'exists')
  assert.is(deletedBy(ran('{ acknowledged: true, deletedCount: 0 }\n')), 0)
  assert.is(matchedBy(ran('{\n  acknowledged: true,\n  insertedId: null,\n  matchedCount: 1,\n')), 1)
})

output('says what failed in the words of the tool, and in English where it has none', () => {
  for (const read of [addedBy, deletedBy, matchedBy, listedBy, helpBy]) {
    for (const code of [0, 1]) {
      for (const failed of [ran('', NO_CONNECTION, code), ran(NO_CONNECTION, '', code)])
        assert.throws(
          () => read(failed),
          'dbctl failed: MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27999',
        )
    }
  }
  const silent = ran('', '', 1)
  assert.throws(() => addedBy(silent), /of dbctl for an add says nothing that can be read; it ended with 1$/)
  assert.throws(() => listedBy(silent), /for a listing says/)
  assert.throws(() => deletedBy(silent), /for a removal says/)
  assert.throws(() => matchedBy(silent), /for a change says/)
  assert.throws(() => helpBy(silent), /for help says/)
})

output('reads a listing, and whether it is cut', () => {
  const listing = listedBy(
    ran(
      "[\n  { _id: ObjectId('aa'), imsi: '1', security: { sqn: Long('32') }, n: 5 }\n]\nType \"it\" for more\n",
    ),
  )
  assert.is(listing.isCut, true)
  assert.equal(listing.docs, [
    { _id: 'aa', imsi: '1', security: { sqn: Long.fromNumber(32) }, n: new Int32(5) },
  ])
})

output('tells an empty database from one that was not asked', () => {
  // As the stock tool prints it, without and with a home that mongosh can write to.
  const homeless =
    "Warning: Could not access file: ENOTDIR: not a directory, mkdir '/dev/null/.mongodb/mongosh'\n"
  const noted =
    '(node:7) [DEP0040] DeprecationWarning: a module failed to age well\n(Use `node --trace` for more)\n'
  for (const empty of [ran('\n'), ran(''), ran('[]\n'), ran(`${homeless}\n`), ran('\n', noted)])
    assert.equal(listedBy(empty), { docs: [], isCut: false })
  const failed = [
    ran('', '', 1),
    ran('[]\n', '', 1),
    ran('\n', 'dbctl: line 827: mongosh: command not found\n', 127),
    ran('\n', 'dbctl: line 827: mongosh: command not found\n', 0),
    ran('\n', 'connection to 127.0.0.1 refused\n', 0),
    ran(homeless, NO_CONNECTION, 1),
    ran('[MongoNetworkError]\n'),
    ran('[\n  { imsi: '),
    ran('Welcome!\n'),
    { output: '\n', errors: '', code: undefined },
  ]
  for (const one of failed) assert.throws(() => listedBy(one), /dbctl/)
})

output('takes no secret over from the words of a tool', () => {
  const [imsi, key, password] = ['001010000000001', '465b5ce8b199b49faa5f0a2ee238a6bc', 'gehe1m']
  const words = (errors: string) => failureIn({ output: '', errors, code: 1, conceal: [password] }) ?? ''
  assert.is(words("MongoServerError: no such command: 'saslStart'"), 'MongoServerError: no such command: …')
  assert.is(words(`MongoParseError: no ${password} in x`), 'MongoParseError: no … in x')
  const filler = fc.string({ maxLength: 200 })
  const wraps = [(x: string) => x, (x: string) => `"${x}"`, (x: string) => `k: ${x}`, (x: string) => `'${x}`]
  fc.assert(
    fc.property(filler, filler, fc.constantFrom(...wraps), fc.boolean(), (before, after, wrap, isError) => {
      const url = `mongodb://me:${password}@h/x`
      const line = [imsi, key, key.toUpperCase(), url, password].map(wrap).join(` ${after} `)
      const told = words(`${isError ? 'MongoError: ' : ''}${before}${line}`)
      assert.ok(told.length <= 160)
      for (const secret of [imsi, key, key.toUpperCase(), password, imsi.slice(0, 10), key.slice(0, 16)])
        assert.not.ok(told.includes(secret), told)
    }),
  )
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
      failureIn(ran(text, text, 1))
    }),
  )
})

output('reads the commands of a help text', () => {
  const help =
    '   add_ue_with_apn {imsi key opc apn}: adds\n   reset: WIPES\n   block {imsi}: bars\nother text\n'
  for (const code of [0, 1])
    assert.equal([...helpBy(ran(help, 'COMMANDS:\n', code))], ['add_ue_with_apn', 'reset', 'block'])
  for (const none of [ran(''), ran('   code: 1\n'), { ...ran(help), code: undefined }])
    assert.throws(() => helpBy(none), /dbctl for help/)
})

output.run()
