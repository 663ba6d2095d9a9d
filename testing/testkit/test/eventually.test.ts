import { stat } from 'node:fs/promises'
import { assert, eventually, suite, tempDir } from '../src/index.ts'

const waiting = suite('testkit/eventually')

waiting('gives what it saw once it is neither false nor an error', async () => {
  let looks = 0
  const seen = await eventually(() => {
    looks += 1
    if (looks === 1) throw new Error('not yet')
    return looks < 3 ? false : looks
  })
  assert.is(seen, 3)
})

waiting('throws the last error when the time is over', async () => {
  const outcome = await eventually(() => Promise.reject(new Error('still not')), 10).catch(String)
  assert.is(outcome, 'Error: still not')
})

waiting('removes a temporary directory with what is in it', async () => {
  const dir = await tempDir()
  assert.is((await stat(dir.path)).mode & 0o777, 0o700)
  await dir.remove()
  await dir.remove()
  assert.is(await stat(dir.path).catch(() => 'gone'), 'gone')
})

waiting.run()
