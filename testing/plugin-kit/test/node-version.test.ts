import { assert, suite } from '@steeple/testkit'
import { nodeProblem } from '../src/node-version.ts'

const node = suite('plugin-kit/node-version')

node('names the Node that is too old, where it is, and what to do', () => {
  assert.match(
    nodeProblem('20.20.2', '/usr/bin/node') ?? '',
    /needs Node 24; \/usr\/bin\/node is 20\.20\.2\. Put one/,
  )
  assert.ok(nodeProblem('9.11.2', '/usr/bin/node') !== undefined)
  assert.is(nodeProblem('24.0.0', '/usr/bin/node'), undefined)
  assert.is(nodeProblem('100.1.0', '/usr/bin/node'), undefined)
})

node.run()
