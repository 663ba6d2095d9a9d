import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { diffSettings } from '../src/change-settings.ts'
import { load, sectionOf } from './load-helper.ts'

const diff = suite('config/diff-settings')

diff('says nothing when nothing changed', () => {
  assert.equal(diffSettings(load('').settings, load('tac: 7').settings, load('').schema), [])
})

diff('names each changed key and when the change takes effect', () => {
  const after =
    'tac: 8\nserver: {listen: ":9"}\ncollector: {interval: 1m}\nran: {profiles: {a: {technology: lte, channel: 1, bandwidth_mhz: 5}}}'
  assert.equal(diffSettings(load('').settings, load(after).settings, load('').schema), [
    { key: 'server.listen', apply: 'restart' },
    { key: 'collector.interval', apply: 'reload' },
    { key: 'ran.profiles', apply: 'hot' },
    { key: 'tac', apply: 'hot' },
  ])
})

diff('compares plugin keys by the schema that was loaded', () => {
  const size = { type: 'integer', default: 1, 'x-apply': 'hot' }
  const sections = [sectionOf('beacon', { properties: { beacon: { properties: { size } } } })]
  const before = load('', { sections })
  const after = load('beacon: {size: 2}', { sections })
  assert.equal(diffSettings(before.settings, after.settings, after.schema), [
    { key: 'beacon.size', apply: 'hot' },
  ])
})

diff.run()
