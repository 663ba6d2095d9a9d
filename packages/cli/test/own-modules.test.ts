import { globSync, readFileSync } from 'node:fs'
import { createRequire, isBuiltin, type ResolveHookSync } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { assert, suite } from '@steeple/testkit'
import { resolveOwn } from '../src/own-modules.ts'

const modules = suite('cli/own-modules')
const PACKAGES = join(import.meta.dirname, '../..')
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"'\s$]+)["']/g

type Context = Parameters<ResolveHookSync>[1]
type Found = ReturnType<ResolveHookSync>

function contextOf(parentURL: string): Context {
  return { parentURL, conditions: ['node', 'import'], importAttributes: {} } as Context
}

/** What node finds for a module at that address. */
function searched(specifier: string, parentURL: string): Found {
  if (isBuiltin(specifier)) return { url: specifier, format: 'builtin' }
  return { url: pathToFileURL(createRequire(parentURL).resolve(specifier)).href, format: 'module' }
}

modules('finds of all that our programs import what a search finds', () => {
  const resolve = resolveOwn()
  const programs = globSync('*/dist/*.{js,mjs}', { cwd: PACKAGES }).map((path) => join(PACKAGES, path))
  assert.ok(programs.length > 50, 'the packages are built')
  let byRule = 0
  for (const program of programs) {
    const parent = pathToFileURL(program).href
    const named = new Set([...readFileSync(program, 'utf8').matchAll(IMPORT)].map(([, name = '']) => name))
    for (const name of named) {
      if (!/^(node:|@steeple\/|\.{1,2}\/)/.test(name)) continue
      let right: Found
      try {
        right = searched(name, parent)
      } catch {
        // What looks like an import in a text, or one of a part that is not there.
        continue
      }
      let isSearched = false
      const found = resolve(name, contextOf(parent), (specifier) => {
        isSearched = true
        return searched(specifier ?? name, parent)
      })
      assert.equal([found.url, found.format], [right.url, right.format], `${name} of ${program}`)
      if (!isSearched) byRule++
    }
  }
  assert.ok(byRule > 300, `${byRule} without a search`)
})

modules('leaves to a search what others import, and what lies elsewhere', () => {
  const resolve = resolveOwn()
  const elsewhere: Found = { url: 'file:///elsewhere', format: 'commonjs' }
  const ours = pathToFileURL(join(PACKAGES, 'cli/dist/main.js')).href
  const theirs = pathToFileURL(join(PACKAGES, 'cli/node_modules/some/index.js')).href
  const asked: [string, string][] = [
    ['./more.js', theirs],
    ['node:fs', theirs],
    ['@steeple/contracts', theirs],
    ['./more.js', 'file:///var/lib/svc/plugins/one/index.js'],
    ['@steeple/contracts', 'file:///var/lib/svc/plugins/one/index.js'],
    ['file:///var/lib/svc/plugins/one/index.js?sha=00', ours],
    [theirs, ours],
    ['better-sqlite3', ours],
    ['fs', ours],
    ['./some.node', ours],
    ['../package.json', ours],
    ['@steeple/policy/offline', ours],
  ]
  for (const [specifier, parent] of asked)
    assert.is(
      resolve(specifier, contextOf(parent), () => elsewhere),
      elsewhere,
      `${specifier} of ${parent}`,
    )
  const first = resolve(ours, { ...contextOf(ours), parentURL: undefined }, () => elsewhere)
  assert.is(first, elsewhere, 'the program that node was called with')
})

modules.run()
