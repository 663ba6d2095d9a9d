import { findSections, leavesOf, loadConfig, mergedSchema } from '@steeple/settings'
import { assert, suite } from '@steeple/testkit'
import { pluginPackages } from '../src/composition/plugin-packages.ts'

const defaults = suite('cli/bundled-defaults')

/** A tree with a value at a path. */
function planted(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    tree[name] = value
    return
  }
  const inner = (tree[name] ?? {}) as Record<string, unknown>
  tree[name] = inner
  planted(inner, rest, value)
}

defaults('fit the schemas of their keys: a start judges only what is set', () => {
  const sections = findSections({ env: {} }, { packages: pluginPackages(), known: [] })
  const leaves = leavesOf(mergedSchema(sections)).filter(({ schema }) => schema.default !== undefined)
  assert.ok(leaves.length >= 120, `${leaves.length} keys`)
  const tree = {}
  for (const { path, schema } of leaves) planted(tree, path, schema.default)
  const { settings, warnings } = loadConfig({
    env: {},
    sections,
    file: 'all.yaml',
    readFile: () => JSON.stringify(tree),
  })
  const unset = loadConfig({ env: {}, sections, file: 'none.yaml', readFile: () => '' })
  assert.equal(settings, unset.settings)
  assert.equal(warnings, unset.warnings)
})

defaults.run()
