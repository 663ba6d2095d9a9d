// The packages of other people that a build needs, as they lie in the workspace's own installation.
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Packages that are headers and types, for compilers alone. */
const FOR_COMPILERS = /^(node-addon-api|nan|@types\/.+)$/

/**
 * What `roots` need, all of it: `{path, folder, manifest, needs, isRun}`, sorted, where `path` is its place below `node_modules` and
 * `needs` are such places. The first version that is met of a name lies on top, where all find it; others lie below whom they are for.
 *
 * `roots` are `{folder, at, names, inside, outside}`: a folder of the workspace, its place in the build and what it uses of its
 * dependencies. `inside` are those of the names that lie, with all that they require, in a file of its own, and `outside` are what that
 * file still requires by name. `isRun` is false of what is needed by those files alone: nothing loads it from its own place.
 * `skip` are names that stay out.
 */
export function closureOf(roots, skip = new Set()) {
  const placed = new Map()
  const waiting = roots.flatMap(({ folder, at, names }) => names.map((name) => ({ name, from: folder, at })))
  while (waiting.length > 0) {
    // By breadth and name, so that the same installation gives the same tree.
    waiting.sort((a, b) => depthOf(a.at) - depthOf(b.at) || compare(a.name, b.name) || compare(a.at, b.at))
    const asked = waiting.shift()
    if (FOR_COMPILERS.test(asked.name) || skip.has(asked.name)) continue
    waiting.push(...placedFor(placed, asked))
  }
  const all = [...placed.values()].sort((a, b) => compare(a.path, b.path))
  const found = all.map((one) => ({ ...one, needs: needsIn(placed, one, skip) }))
  const run = runOf(found, placed, roots)
  return found.map((one) => ({ ...one, isRun: run.has(one.path) }))
}

/** The places of what is loaded from there. */
function runOf(found, placed, roots) {
  const needs = new Map(found.map((one) => [one.path, one.needs]))
  const outside = new Set(roots.flatMap((one) => one.outside))
  const waiting = [
    ...roots.flatMap(({ at, names, inside }) =>
      names.filter((name) => !inside.includes(name)).map((name) => lookUp(placed, name, at)?.path),
    ),
    ...found.filter(({ manifest }) => outside.has(manifest.name)).map(({ path }) => path),
  ]
  const run = new Set()
  while (waiting.length > 0) {
    const path = waiting.pop()
    if (path === undefined || run.has(path)) continue
    run.add(path)
    waiting.push(...(needs.get(path) ?? []))
  }
  return run
}

/** The places of what a package finds in the build, which is what it finds in the workspace. */
function needsIn(placed, { path, folder, manifest }, skip) {
  return needsOf(manifest).flatMap(({ name }) => {
    const meant = FOR_COMPILERS.test(name) || skip.has(name) ? undefined : folderOf(name, folder)
    if (meant === undefined) return []
    const found = lookUp(placed, name, path)
    if (found?.folder !== meant) throw new Error(`${path} would find another ${name} than ${meant}`)
    return [found.path]
  })
}

/** Puts a package where who asks for it finds it, when it is not there; gives what it asks for itself. */
function placedFor(placed, { name, from, at, isOptional = false }) {
  const folder = folderOf(name, from)
  if (folder === undefined && isOptional) return []
  if (folder === undefined) throw new Error(`${name}, which ${from} needs, is not installed`)
  const seen = lookUp(placed, name, at)
  if (seen?.folder === folder) return []
  const path = seen === undefined ? name : `${at}/node_modules/${name}`
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  placed.set(path, { path, folder, manifest })
  return needsOf(manifest).map((need) => ({ ...need, from: folder, at: path }))
}

function needsOf({ dependencies = {}, optionalDependencies = {}, peerDependencies = {} }) {
  const optional = new Set([...Object.keys(optionalDependencies), ...Object.keys(peerDependencies)])
  const names = new Set([...Object.keys(dependencies), ...optional])
  return [...names].sort().map((name) => ({ name, isOptional: optional.has(name) }))
}

/** As Node looks: from the folder of who asks upwards. */
function lookUp(placed, name, at) {
  for (let place = at; place !== ''; place = parentOf(place)) {
    const found = placed.get(`${place}/node_modules/${name}`)
    if (found !== undefined) return found
  }
  return placed.get(name)
}

function parentOf(path) {
  const end = path.lastIndexOf('/node_modules/')
  return end === -1 ? '' : path.slice(0, end)
}

function depthOf(path) {
  return path === '' ? 0 : path.split('/node_modules/').length
}

/** The real folder of a dependency, looked for as Node does. */
function folderOf(name, from) {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(join(path, 'package.json'))) return realpathSync(path)
    if (dirname(folder) === folder) return undefined
  }
}

export function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0
}
