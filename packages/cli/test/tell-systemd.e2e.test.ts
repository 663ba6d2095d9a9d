import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { createTeller } from '../src/process-watch.ts'

const teller = suite('cli/tell-systemd')

/** Stands for systemd-notify on the PATH, and notes what it was given. */
async function told(
  env: NodeJS.ProcessEnv,
  work: (words: () => string, tell: () => void) => Promise<void>,
): Promise<void> {
  await using dir = await tempDir()
  const log = join(dir.path, 'words')
  writeFileSync(log, '')
  writeFileSync(join(dir.path, 'systemd-notify'), `#!/bin/sh\necho "$1 $NOTIFY_SOCKET" >> ${log}\n`)
  chmodSync(join(dir.path, 'systemd-notify'), 0o755)
  const PATH = `${dir.path}:${process.env.PATH}`
  await work(() => readFileSync(log, 'utf8'), createTeller({ ...env, PATH }))
}

teller('says once that it is ready, and goes on to say that it turns', () =>
  told(
    { NOTIFY_SOCKET: '/run/n', WATCHDOG_USEC: '60000', WATCHDOG_PID: String(process.pid) },
    async (words, tell) => {
      tell()
      tell()
      await eventually(() => words().split('WATCHDOG=1 /run/n').length > 3)
      assert.is(words().split('READY=1 /run/n').length, 2)
    },
  ),
)

teller('says nothing of a watchdog that is of another process', () =>
  told({ NOTIFY_SOCKET: '/run/n', WATCHDOG_USEC: '3000', WATCHDOG_PID: '1' }, async (words, tell) => {
    tell()
    await eventually(() => words().includes('READY=1'))
    assert.not.match(words(), /WATCHDOG/)
  }),
)

teller.run()
