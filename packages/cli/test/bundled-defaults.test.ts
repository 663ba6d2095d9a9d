import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findSections, leavesOf, loadConfig, mergedSchema } from '@steeple/settings'
import { assert, suite } from '@steeple/testkit'

const defaults = suite('cli/bundled-defaults')
const PACKAGES = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

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
  const packages = readdirSync(PACKAGES)
    .map((name) => join(PACKAGES, name))
    .filter((dir) => existsSync(join(dir, 'package.json')))
    .filter((dir) => JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')).steeple !== undefined)
  const sections = findSections({ env: {} }, { packages, known: [] })
  const leaves = leavesOf(mergedSchema(sections)).filter(({ schema }) => schema.default !== undefined)
  assert.ok(leaves.length >= 120, `${leaves.length} keys`)
  const tree = {}
  for (const { path, schema } of leaves) planted(tree, path, schema.default)
  const { settings } = loadConfig({
    env: {},
    sections,
    file: 'all.yaml',
    readFile: () => JSON.stringify(tree),
  })
  const unset = loadConfig({ env: {}, sections, file: 'none.yaml', readFile: () => '' })
  assert.equal(settings, unset.settings)
})

defaults.run()
