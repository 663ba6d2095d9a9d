import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { assert, suite, tempDir } from '@steeple/testkit'
import { buildPlugin } from '../src/build.ts'

const build = suite('plugin-kit/build')

async function writeAll(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
}

build('makes one file of all that is imported, but for the contracts and what is of Node', async () => {
  await using dir = await tempDir()
  await writeAll(dir.path, {
    'package.json': '{"type": "module"}',
    'src/plugin.ts': `import { notFound } from '@steeple/contracts'
import { join } from 'node:path'
import { half } from './half.ts'
import { late } from 'late'
export const plugin = { setup: async () => ({ at: join('a', 'b'), half: half(4), late: late(), notFound }) }
`,
    'src/half.ts': 'export function half(of: number): number { return of / 2 }\n',
    'node_modules/late/package.json': '{"name": "late", "version": "1.0.0", "main": "late.js"}',
    'node_modules/late/late.js': "exports.late = () => require('node:os').EOL.length\n",
    'node_modules/@steeple/contracts/package.json':
      '{"name": "@steeple/contracts", "version": "1.0.0", "type": "module", "exports": "./index.js"}',
    'node_modules/@steeple/contracts/index.js': 'export const notFound = "of the service"\n',
  })
  const { file } = await buildPlugin(dir.path)
  assert.is(file, join(dir.path, 'dist/plugin.js'))
  const imported = [...(await readFile(file, 'utf8')).matchAll(/from ["']([^"']+)["']/g)].map(
    ([, from]) => from,
  )
  assert.equal(imported.toSorted(), ['@steeple/contracts', 'node:module', 'node:path'])
  const { plugin } = (await import(pathToFileURL(file).href)) as { plugin: { setup(): Promise<object> } }
  assert.equal(await plugin.setup(), { at: 'a/b', half: 2, late: 1, notFound: 'of the service' })
})

build('says what is not there, and what does not build', async () => {
  await using dir = await tempDir()
  assert.match(String(await buildPlugin(dir.path).catch(String)), /src\/plugin\.ts is not there/)
  await writeAll(dir.path, {
    'package.json': '{}',
    'src/plugin.ts': "export { plugin } from './none.ts'\n",
  })
  assert.match(String(await buildPlugin(dir.path).catch(String)), /Could not resolve "\.\/none\.ts"/)
})

build.run()
