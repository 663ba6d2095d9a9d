import { chown, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { createKeptStates } from '../../src/plugin-packages/kept-states.ts'

const kept = suite('plugin-packages/kept-states')
const quiet = (): void => undefined
const own = process.getuid?.() ?? 0
const SILENT = { debug: quiet, info: quiet, warn: quiet, error: quiet }

/** Root writes for the user of the service; everybody else for oneself. */
const SERVICE = own === 0 ? 65_534 : own

kept('belongs to the owner of the data directory, also when a command of root has made it', async () => {
  await using root = await tempDir()
  await chown(root.path, SERVICE, -1)
  const pluginsDir = join(root.path, 'deep', 'plugins')
  createKeptStates(pluginsDir, undefined).change('sample', { isDisabled: true })
  for (const path of [join(root.path, 'deep'), pluginsDir, join(pluginsDir, 'state.json')])
    assert.is((await stat(path)).uid, SERVICE, path)
  assert.is((await stat(join(pluginsDir, 'state.json'))).mode & 0o777, 0o600)
})

kept('follows no link that lies where it writes', async () => {
  await using root = await tempDir()
  const victim = join(root.path, 'victim')
  await writeFile(victim, '{}')
  await symlink(victim, join(root.path, 'state.json'))
  const states = createKeptStates(root.path, undefined)
  states.change('sample', { version: '1.0.0' })
  assert.is(await readFile(victim, 'utf8'), '{}')
  assert.equal((await readdir(root.path)).sort(), ['state.json', 'victim'])
  assert.equal(states.of('sample'), { version: '1.0.0' })
})

kept('says once that its file is damaged, and keeps what is left of it', async () => {
  await using root = await tempDir()
  const path = join(root.path, 'state.json')
  const said: unknown[] = []
  const log = { ...SILENT, error: (facts: object) => void said.push(facts) }
  createKeptStates(root.path, log).change('one', { isDisabled: true })
  for (const left of ['{"one":{"isDis', '[1', '', 'null']) {
    said.length = 0
    await writeFile(path, left)
    const states = createKeptStates(root.path, log)
    assert.equal([states.of('one'), states.of('two')], [{}, {}])
    assert.is(said.length, 1, left)
    states.change('two', { version: '1.0.0' })
    assert.is(await readFile(`${path}.damaged`, 'utf8'), left)
    assert.equal(createKeptStates(root.path, log).of('two'), { version: '1.0.0' })
    assert.is(said.length, 1, left)
  }
})

kept.run()
