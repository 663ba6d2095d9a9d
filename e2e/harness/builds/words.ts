import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ROOT } from '../launch.ts'
import { bundledPlugins } from '../plugin-manifests.ts'

/** What a build without a package has nothing of. */
export interface Words {
  /** Of its own: its package, routes, metrics, error codes and tables. In no file of the build. */
  readonly own: readonly string[]
  /** Keys of the configuration and variables. Others may read a key of it; the command line and what it prints know none. */
  readonly keys: readonly string[]
  /** The tables, which are among `own`. */
  readonly tables: readonly string[]
  /** The services that others may use. */
  readonly provides: readonly string[]
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

/** The optional plugins of this checkout, by the names of their packages. */
export function optionalPlugins(): readonly string[] {
  return bundledPlugins()
    .filter(({ manifest }) => manifest.essential !== true)
    .map(({ name }) => name)
}

/** The words of a plugin, from its manifest, its schema and the tables that its migrations make. */
export function wordsOf(name: string): Words {
  const plugin = bundledPlugins().find((one) => one.name === name)
  if (plugin === undefined) throw new Error(`packages/${name} has no manifest`)
  const { config, paths = {}, metrics = {}, errors = [], provides = [] } = plugin.manifest
  const tables = [...programOf(name).matchAll(/create table (?:if not exists )?([a-z_0-9]+)/gi)].map(
    ([, table = '']) => table,
  )
  const schema: Schema = config === undefined ? {} : readJson(join(ROOT, 'packages', name, config))
  const leaves = leavesOf(schema, []).filter((path) => path.length > 1)
  return {
    own: [
      `@steeple/${name}`,
      ...Object.keys(paths),
      ...Object.keys(metrics),
      ...errors.map(({ code }) => code),
      ...tables,
    ],
    keys: leaves.map((path) => path.join('.')),
    tables,
    provides,
  }
}

/** Whether one of two plugins says a word of the other or of what it provides, or both are named for the same thing. */
export function areRelated(one: string, other: string): boolean {
  const says = (name: string, of: string): boolean => {
    const { own, keys, provides } = wordsOf(of)
    return [of, ...own, ...keys, ...provides].some((word) => programOf(name).includes(word))
  }
  const things = (name: string): readonly string[] => name.replace(/s$/, '').split('-')
  return things(one).some((word) => things(other).includes(word)) || says(one, other) || says(other, one)
}

function programOf(name: string): string {
  return readFileSync(join(ROOT, 'packages', name, 'dist/plugin.js'), 'utf8')
}

/** The files below a folder in which a text stands, with the folder cut off. */
export function filesWith(
  folder: string,
  word: string,
  contents: ReadonlyMap<string, string>,
): readonly string[] {
  return [...contents]
    .filter(([, text]) => text.includes(word))
    .map(([path]) => path.slice(folder.length + 1))
}

/** Our own files of a build, by path: programs, manifests, schemas, documents. Not its record, which names what is left out. */
export function ownFiles(folder: string): ReadonlyMap<string, string> {
  const ours = join(folder, 'lib/node_modules/@steeple')
  const below = filesBelow(ours).filter((path) => basename(path) !== 'build.json')
  const documents = filesBelow(join(folder, 'share/doc'))
  const files = [...below, join(folder, 'bin/svc'), ...documents]
  return new Map(files.map((path) => [path, readFileSync(path, 'utf8')]))
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function leavesOf({ properties = {} }: Schema, path: readonly string[]): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema.properties === undefined ? [[...path, name]] : leavesOf(schema, [...path, name]),
  )
}

/** Files of this checkout are what they are said to be. */
function readJson<Content>(path: string): Content {
  return JSON.parse(readFileSync(path, 'utf8'))
}
