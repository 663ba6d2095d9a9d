import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { assert, suite } from '../src/index.ts'

const limits = suite('testkit/suite')
const uvu = fileURLToPath(new URL('../node_modules/uvu/bin.js', import.meta.url))

limits('fails a test that outlives its limit and one whose before hook threw', () => {
  const folder = fileURLToPath(new URL('../fixtures', import.meta.url))
  const run = spawnSync(process.execPath, [uvu, folder, 'broken-suites'], {
    encoding: 'utf8',
    timeout: 120_000,
  })
  assert.is(run.status, 1)
  assert.match(run.stdout, /"never ends" was not over after 20 ms/)
  assert.match(run.stdout, /the table could not be laid/)
  assert.match(run.stdout, /the mast is too short: \[\{"pointer":"\/mast"\}\]/)
  assert.match(run.stdout, /Passed:\s+1/)
})

const order: string[] = []
limits.before(() => {
  order.push('before')
})
limits.before.each(() => {
  order.push('each')
})
limits('runs its hooks around the tests', () => {
  assert.equal(order, ['before', 'each', 'each'])
})

limits.run()
