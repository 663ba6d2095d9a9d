import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { diffSettings } from '../../src/config/diff-settings.ts'
import { load } from './load-helper.ts'

const diff = suite('config/diff-settings')

diff('says nothing when nothing changed', () => {
  assert.equal(diffSettings(load('').settings, load('tac: 7').settings), [])
})

diff('names each changed key and when the change takes effect', () => {
  const after =
    'tac: 8\nserver: {listen: ":9"}\ncollector: {interval: 1m}\nran: {profiles: {a: {technology: lte, channel: 1, bandwidth_mhz: 5}}}'
  assert.equal(diffSettings(load('').settings, load(after).settings), [
    { key: 'server.listen', apply: 'restart' },
    { key: 'tac', apply: 'hot' },
    { key: 'collector.interval', apply: 'reload' },
    { key: 'ran.profiles', apply: 'hot' },
  ])
})

diff('compares plugin keys by the schema that was loaded', () => {
  const schema = { type: 'object', properties: { size: { type: 'integer', default: 1, 'x-apply': 'hot' } } }
  const extraSchemas = [{ configPath: 'beacon', schema }]
  const before = load('', { extraSchemas })
  const after = load('beacon: {size: 2}', { extraSchemas })
  assert.equal(diffSettings(before.settings, after.settings, after.schema), [
    { key: 'beacon.size', apply: 'hot' },
  ])
})

diff.run()
