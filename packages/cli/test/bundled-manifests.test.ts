import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readManifest } from '@steeple/kernel'
import { assert, suite } from '@steeple/testkit'
import { bundledManifests } from '../src/composition/plugin-packages.ts'

const bundled = suite('cli/bundled-manifests')
const PACKAGES = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

bundled('are all taken: one that is not would be missing from the service', async () => {
  const plugins = readdirSync(PACKAGES)
    .map((name) => join(PACKAGES, name))
    .filter((dir) => existsSync(join(dir, 'package.json')))
    .filter((dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')).steeple !== undefined)
  assert.ok(plugins.length >= 20, `${plugins.length} plugins`)
  for (const dir of plugins) assert.type(await readManifest(dir, 'build'), 'object', dir)
})

bundled('name modules that have each command which is said to be in them, and no other', async () => {
  for (const { dir, steeple } of bundledManifests()) {
    const inCode = (steeple.commands ?? []).filter((command) => 'module' in command)
    const words = inCode.map(({ usage }) => usage.replace(/ [<[].*/, '')).toSorted()
    const modules = [...new Set(inCode.map(({ module }) => module))]
    const loaded = await Promise.all(modules.map((module) => import(join(dir, module))))
    assert.equal(loaded.flatMap(({ commands }) => Object.keys(commands)).toSorted(), words, steeple.id)
  }
})

bundled.run()
