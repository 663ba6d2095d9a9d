import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createManifestReader } from '@steeple/kernel'
import { assert, suite } from '@steeple/testkit'

const bundled = suite('cli/bundled-manifests')
const PACKAGES = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

bundled('are all taken: one that is not would be missing from the service', async () => {
  const reader = createManifestReader()
  const plugins = readdirSync(PACKAGES)
    .map((name) => join(PACKAGES, name))
    .filter((dir) => existsSync(join(dir, 'package.json')))
    .filter((dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')).steeple !== undefined)
  assert.ok(plugins.length >= 20, `${plugins.length} plugins`)
  for (const dir of plugins) assert.type(await reader.read(dir, 'build'), 'object', dir)
})

bundled.run()
