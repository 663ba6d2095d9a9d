import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'

const test = suite('southbound/disk')
const CHILD = join(import.meta.dirname, '../support/full-disk-child.ts')

test('changes nothing on a disk that is full or read-only, and goes on once there is room', () => {
  // Root mounts in a namespace of its own; others are root in a user namespace of their own.
  const results = ['-m', '-rm'].map((way) =>
    spawnSync('unshare', [way, process.execPath, CHILD], { encoding: 'utf8', timeout: 20_000 }),
  )
  assert.ok(
    results.some(({ status }) => status === 0),
    results.map(({ stderr }) => stderr).join('\n'),
  )
})

test.run()
