import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { containerEngine } from '@steeple/lab-core'
import { assert, runTool, suite, tempDir } from '@steeple/testkit'
import { daemonLog } from '../../src/diagnose/diagnose.ts'

const log = suite('driver-core-a/daemon-log')

log('waits for no pipe where a log should be, and says that it is one', async () => {
  await using folder = await tempDir()
  runTool('mkfifo', join(folder.path, 'mme.log'))
  // What else is in these sections is not looked at.
  const settings = { core_a: { log_dir: folder.path } } as unknown as Settings
  const tail = await daemonLog('mme', settings, containerEngine([]), new AbortController().signal)
  assert.match('problem' in tail ? tail.problem : '', /mme[.]log: it is a pipe, a device/)
})

log.run()
