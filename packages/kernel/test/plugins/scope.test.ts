import { fakeClock, suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createScope } from '../../src/plugins/live.ts'
import { createTestLog, type Line } from './test-host.ts'

const scope = suite('kernel/plugins/scope')

scope('closes what was opened, newest first, after the signal', async () => {
  const made = createScope(fakeClock(), createTestLog([]))
  const order: string[] = []
  made.retiring.addEventListener('abort', () => order.push('retiring'))
  made.defer(() => void order.push('first'))
  made.defer(async () => void order.push('second'))
  await made.close()
  assert.equal(order, ['retiring', 'second', 'first'])
})

scope('goes on after a step that throws or hangs', async () => {
  const clock = fakeClock()
  const lines: Line[] = []
  const made = createScope(clock, createTestLog(lines))
  let isClosed = false
  made.defer(() => {
    isClosed = true
  })
  made.defer(() => new Promise(() => undefined))
  made.defer(() => {
    throw new Error('fault')
  })
  const closing = made.close()
  await clock.advance(5_000)
  await closing
  assert.ok(isClosed)
  assert.is(lines.length, 2)
  assert.is(clock.pending, 0)
})

scope('runs a step at once that comes after the end', async () => {
  const made = createScope(fakeClock(), createTestLog([]))
  await made.close()
  let isClosed = false
  made.defer(() => {
    isClosed = true
  })
  assert.ok(isClosed)
})

scope.run()
