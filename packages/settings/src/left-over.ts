import type { JsonSchema } from '@steeple/contracts'
import { type ConfigTree, dotted, isMap, markOf, type Problem, valueAt } from './config-tree.ts'
import { closest } from './did-you-mean.ts'
import { leavesOf, propertiesOf } from './schema-tree.ts'
import { inOrder, type Section } from './section.ts'

/**
 * Takes out of the tree what looks like a section of a plugin that is not there: a map under a name that is near to none
 * of the names at the root. It costs a warning, not the service.
 */
export function takeStrayed(tree: ConfigTree, schema: JsonSchema): readonly Problem[] {
  const names = Object.keys(propertiesOf(schema))
  const strayed = Object.entries(tree.root)
    .filter(([name, value]) => !names.includes(name) && isMap(value))
    .map(([name]) => name)
    .filter((name) => /^[a-z][a-z0-9_]*$/.test(name) && closest(name, names) === undefined)
    .filter((name) => name !== 'constructor')
  return strayed.map((name) => {
    delete tree.root[name]
    const message = 'is a section of no plugin of this build and of none that is installed; it has no effect'
    return { place: markOf(tree, [name])?.keyPlace ?? '', key: name, message }
  })
}

/**
 * Takes the keys out of the tree that plugins have of which this build knows no more than the names, and nobody who is here: what
 * was configured for another build costs a warning for each of them, not the service.
 */
export function takeAbsent(
  tree: ConfigTree,
  schema: JsonSchema,
  sections: readonly Section[],
): readonly Problem[] {
  const here = new Set(leavesOf(schema).map(({ key }) => key))
  return inOrder(sections).flatMap(({ plugin, origin, keys = [] }) => {
    if (origin !== 'known') return []
    const set = keys
      .filter((key) => !here.has(key))
      .map((key) => key.split('.'))
      .filter((path) => valueAt(tree.root, path) !== undefined)
    for (const path of set) remove(tree.root, path, schema)
    const [first] = set
    if (first === undefined) return []
    const message = `is set, and this build has no ${plugin}: it has no effect`
    return [{ place: markOf(tree, first)?.keyPlace ?? '', key: dotted(first), message }]
  })
}

/** Takes a value away, and the groups around it that are empty then and no groups of the schema. */
function remove(root: unknown, [name = '', ...rest]: readonly string[], schema: JsonSchema): void {
  if (!isMap(root)) return
  const inner = propertiesOf(schema)[name]
  if (rest.length > 0) remove(root[name], rest, inner ?? {})
  const value = root[name]
  if (rest.length === 0 || (inner === undefined && isMap(value) && Object.keys(value).length === 0))
    delete root[name]
}

/** What is set for plugins that this build lacks: an error where it switches something on, else a warning. */
export function absentFeatures(
  tree: ConfigTree,
  values: unknown,
  sections: readonly Section[],
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const { plugin, schema, origin } of sections) {
    if (origin !== 'known') continue
    const set = leavesOf(schema ?? {}).filter(({ path }) => valueAt(tree.root, path) !== undefined)
    const on = set.filter(
      ({ path, schema: leaf }) =>
        path.at(-1) === 'enabled' && leaf.default === false && valueAt(values, path) === true,
    )
    for (const { path } of on) {
      const message = `is true, and this build has no ${plugin}; leave it out, or install ${plugin}`
      problems.push({ place: markOf(tree, path)?.place ?? '', key: dotted(path), message })
    }
    const first = set[0]
    if (on.length > 0 || first === undefined) continue
    const message = `is set, and this build has no ${plugin}: it has no effect`
    warnings.push({ place: markOf(tree, first.path)?.place ?? '', key: dotted(first.path), message })
  }
  return { problems, warnings }
}
