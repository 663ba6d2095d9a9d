import { CONFIG_SCHEMA } from '@steeple/contracts'
import { suite } from '@steeple/testkit'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as assert from 'uvu/assert'
import { leavesOf, mergedSchema } from '../../src/config/schema-tree.ts'

const schema = suite('config/schema-tree')

schema('is a JSON Schema 2020-12 with a default and an x-apply for every key', () => {
  const ajv = new Ajv2020({ strict: true })
  ajv.addKeyword({ keyword: 'x-env' })
  ajv.addKeyword({ keyword: 'x-apply' })
  const { default: _unused, ...root } = CONFIG_SCHEMA
  assert.ok(ajv.validateSchema(root), ajv.errorsText())
  ajv.compile(root)
  for (const leaf of leavesOf(CONFIG_SCHEMA)) {
    assert.is.not(leaf.schema.default, undefined, leaf.path.join('.'))
    assert.ok(['hot', 'reload', 'restart'].includes(String(leaf.schema['x-apply'])), leaf.path.join('.'))
  }
})

schema('puts a plugin at its path, however deep, and leaves what is there', () => {
  const own = { type: 'object', properties: { size: { type: 'integer', default: 1 } } }
  const merged = mergedSchema([
    { configPath: 'a.b.c', schema: own },
    { configPath: 'a.d', schema: own },
    { configPath: 'collector.extra', schema: own },
  ])
  const keys = leavesOf(merged).map(({ path }) => path.join('.'))
  const before = leavesOf(CONFIG_SCHEMA).map(({ path }) => path.join('.'))
  assert.equal(keys.filter((key) => !before.includes(key)).toSorted(), [
    'a.b.c.size',
    'a.d.size',
    'collector.extra.size',
  ])
  assert.ok(before.every((key) => keys.includes(key)))
})

schema.run()
