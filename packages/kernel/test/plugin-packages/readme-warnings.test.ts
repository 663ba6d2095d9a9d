import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { packPlugin } from '../../src/plugin-packages/pack.ts'
import { writeBuilt } from './signed-package.ts'

const readmes = suite('plugin-packages/readme-warnings')

const SCHEMA = {
  properties: {
    tower: { properties: { url: { type: 'string' }, lamp: { properties: { on: { type: 'boolean' } } } } },
  },
}

/** The warnings for a package of the feature `tower` with that README; undefined: none. */
async function warningsFor(readme: string | undefined): Promise<readonly string[]> {
  await using root = await tempDir()
  const dir = await writeBuilt(root.path, 'tower')
  await writeFile(join(dir, 'config.schema.json'), JSON.stringify(SCHEMA))
  if (readme === undefined) await rm(join(dir, 'README.md'))
  else await writeFile(join(dir, 'README.md'), readme)
  return (await packPlugin(dir, { out: root.path })).warnings
}

const GOOD =
  '# tower\n\nA feature for towers. Keys: `tower.url`, `tower.lamp.on`; see src/tower.driver and `tower.ts`.'

readmes('have nothing said of them when they name what there is', async () => {
  assert.equal(await warningsFor(GOOD), [])
})

readmes('are missed', async () => {
  assert.match((await warningsFor(undefined)).join(), /^there is no README\.md/)
})

readmes('are told from those of the templates', async () => {
  for (const kind of ['core', 'hss', 'ran', 'collector', 'feature']) {
    const template = new URL(`../../../cli/templates/${kind}/README.md`, import.meta.url)
    const text = (await readFile(template, 'utf8')).replaceAll('sample-plugin', 'tower')
    assert.ok((await warningsFor(text)).includes('README.md is still the text of svc plugin new'), kind)
  }
})

readmes('must name id, kind and each key, and none that is gone', async () => {
  assert.equal(
    await warningsFor('Something of a feature. `tower.url`, `tower.lamp.on`'.replaceAll('tower', 'x')),
    [
      'README.md does not name its id, tower',
      "README.md does not name the configuration's tower.url, tower.lamp.on",
    ],
  )
  assert.equal(await warningsFor('tower: `tower.url`, `tower.lamp`, `tower.port`'), [
    'README.md does not name its kind, feature',
    "README.md does not name the configuration's tower.lamp.on",
    'README.md names tower.port, which config.schema.json does not have',
  ])
})

readmes.run()
