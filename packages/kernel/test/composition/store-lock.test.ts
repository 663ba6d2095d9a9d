import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { initNode } from '@steeple/secrets'
import { failure } from '@steeple/store/testing'
import { assert, suite, tempDir } from '@steeple/testkit'
import { systemClock } from '../../src/clock/deadline.ts'
import { startKernel } from '../start-kernel.ts'

const lock = suite('kernel/composition/store-lock')

lock('refuses a store file that a service of another data directory has open', async () => {
  const dir = await tempDir()
  const [one, two] = [join(dir.path, 'one'), join(dir.path, 'two')]
  for (const dataDir of [one, two]) await initNode({ dataDir, clock: systemClock(), name: 'box' })
  await symlink(join(one, 'svc.db'), join(dir.path, 'other-name.db'))
  const first = await startKernel(one)
  for (const path of [join(one, 'svc.db'), join(dir.path, 'other-name.db')]) {
    const error = await failure(() => startKernel(two, { url: `sqlite:${path}` }))
    assert.is(error?.code, 'data_dir_in_use', error?.message)
    assert.ok(error?.message.includes(path), error?.message)
  }
  await first.close()
  await dir.remove()
})

lock('refuses several instances on SQLite', async () => {
  const dir = await tempDir()
  await initNode({ dataDir: dir.path, clock: systemClock(), name: 'box' })
  const error = await failure(() => startKernel(dir.path, { instance: 'a' }))
  assert.is(error?.code, 'store_invalid')
  assert.match(error?.message ?? '', /several instances share a PostgreSQL/)
  await (await startKernel(dir.path)).close()
  await dir.remove()
})

lock.run()
