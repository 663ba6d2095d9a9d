import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, defaultSettings, suite, tempDir } from '@steeple/testkit'
import { checkCharging } from '../src/plugin.ts'

const charging = suite('collector-cdr/doctor')

const settingsWith = (dir: string, enabled = true) =>
  defaultSettings({ core: 'core_b', core_b: { cdr_dir: dir }, collector: { enabled } })

charging('has nothing to say where none are wanted', async () => {
  assert.equal(await checkCharging(settingsWith('')), [])
  assert.equal(await checkCharging(defaultSettings({ core_b: { cdr_dir: '/nowhere' } })), [])
})

charging('says what is in the directory, that it is missing, and that nobody reads it', async () => {
  await using dir = await tempDir()
  const folder = join(dir.path, 'cdr')
  const [missing] = await checkCharging(settingsWith(folder))
  assert.equal([missing?.status, missing?.detail], ['fail', `${folder} cannot be read: ENOENT`])
  assert.match(missing?.remedy ?? '', /core_b\.cdr_dir/)
  await mkdir(folder)
  await writeFile(join(folder, 'one.cdr'), '')
  await writeFile(join(folder, 'config.json'), '')
  const [there] = await checkCharging(settingsWith(folder))
  assert.equal([there?.status, there?.detail], ['ok', `${folder} holds 1 file of charging records`])
  const [unread] = await checkCharging(settingsWith(folder, false))
  assert.is(unread?.status, 'warn')
})

charging.run()
