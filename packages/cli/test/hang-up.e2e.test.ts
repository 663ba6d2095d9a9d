import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { cleanEnv, MAIN } from './svc.ts'

const hangUp = suite('cli/hang-up')

hangUp('is a wish to reload from the first moment on, fulfilled once the service listens', async () => {
  await using folder = await tempDir()
  const file = join(folder.path, 'control.yaml')
  const dataDir = join(folder.path, 'data')
  await writeFile(file, 'hss:\n  driver: none\n')
  const flags = ['--first-start', '--config', file, '--data-dir', dataDir, '--listen', '127.0.0.1:0']
  const child = spawn(process.execPath, ['--no-warnings', MAIN, ...flags], {
    env: cleanEnv({}),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  try {
    // The configuration has been read, and nothing is open yet.
    await eventually(() => existsSync(join(dataDir, 'keys')))
    await writeFile(file, 'hss:\n  driver: none\nserver:\n  log_format: console\n')
    child.kill('SIGHUP')
    await eventually(() =>
      assert.match(said, /"keys":\["server\.log_format"\].*"changed keys need a restart"/),
    )
    assert.ok(said.indexOf('"listening"') < said.indexOf('"changed keys need a restart"'), said)
    child.kill('SIGTERM')
    assert.equal(await ended, [0, null])
  } finally {
    child.kill('SIGKILL')
  }
})

hangUp.run()
