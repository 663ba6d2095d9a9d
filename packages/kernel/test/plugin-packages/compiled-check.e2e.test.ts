import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readManifest as readBuilt } from '@steeple/kernel'
import { assert, suite, tempDir } from '@steeple/testkit'
import { readManifest } from '../../src/plugin-packages/manifest.ts'

const compiled = suite('plugin-packages/compiled-check')

const STEEPLE = {
  id: 'whole',
  kind: 'feature',
  contracts: '^0.2.0',
  config_path: 'whole',
  handover: 'overlap',
  errors: [{ code: 'whole_missing', status: 404, meaning: 'there is none' }],
  metrics: { svc_whole_total: 'How many.' },
  paths: { '/v1/whole/:id': { group: 'Whole', rank: 3 } },
  pages: [{ path: '/whole', title: { en: 'Whole' }, role: 'viewer', module: '/whole.js' }],
  panels: [{ on: 'overview', role: 'viewer', module: '/whole.js' }],
  texts: './texts',
  requires: ['core.driver'],
  provides: ['whole.keeper'],
  selected_by: { key: 'core', values: ['core_a'] },
  essential: true,
}
const PACKAGE = { name: 'whole', version: '1.0.0', exports: './dist/plugin.js', steeple: STEEPLE }

/** What to put in the place of what: of the package, then of its manifest. */
const CHANGES: readonly (readonly [of: object, manifest: object])[] = [
  [{}, {}],
  [{ name: '' }, {}],
  [{ name: 'n'.repeat(215) }, {}],
  // As many characters as may be, each of two units.
  [{ name: '𝄞'.repeat(214) }, {}],
  [{ name: '𝄞'.repeat(215) }, {}],
  [{ name: undefined, version: 7 }, { id: undefined }],
  [{ steeple: 'nothing' }, {}],
  [{}, { id: 'Upper', kind: 'other', handover: 1, more: true }],
  [{}, { id: 'a'.repeat(41), contracts: '', config_path: 'a..b', config: '../x.json' }],
  [{}, { errors: [{ code: 'x', status: 200, meaning: 'no', more: 1 }, {}] }],
  [{}, { errors: [{ code: 'fine_code', status: 404.5, meaning: 'not whole' }] }],
  [{}, { metrics: { other_total: 'x', svc_fine_total: 3 } }],
  [{}, { paths: { 'no-slash': {}, '/fine': { group: '', about: 'a'.repeat(201), rank: 1001, more: 1 } } }],
  [{}, { pages: [{ path: 'x', title: { english: '' }, role: 'root', group: 'else' }] }],
  [{}, { pages: Array.from({ length: 21 }, () => STEEPLE.pages[0]) }],
  [{}, { panels: [{ on: 'Over', role: 'root' }], texts: '../texts' }],
  [{}, { requires: ['core.driver', 'core.driver'], provides: ['nodot', 4] }],
  [{}, { selected_by: { key: 'Core', values: [] } }],
  [{}, { selected_by: { values: ['same', 'same'] }, essential: 'yes', machine: null }],
]

compiled('says of each package what the schema says when it is compiled on the spot', async () => {
  await using temp = await tempDir()
  let refused = 0
  for (const [index, [ofPackage, ofManifest]] of CHANGES.entries()) {
    const dir = join(temp.path, String(index))
    mkdirSync(dir)
    const changed = { ...PACKAGE, steeple: { ...STEEPLE, ...ofManifest }, ...ofPackage }
    writeFileSync(join(dir, 'package.json'), JSON.stringify(changed))
    const said = await readManifest(dir, 'installed')
    assert.equal(await readBuilt(dir, 'installed'), said, JSON.stringify(changed).slice(0, 300))
    if (typeof said === 'string') refused += 1
  }
  assert.is(refused, CHANGES.length - 2)
})

compiled.run()
