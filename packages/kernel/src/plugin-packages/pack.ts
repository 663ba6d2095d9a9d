import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join, normalize, relative } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Manifest, pluginFailed, type SigningKey } from '@steeple/contracts'
import { leavesOf } from '@steeple/settings'
import { packTar } from 'modern-tar'
import { type ReadManifest, readManifest } from './manifest.ts'
import {
  type FileHashes,
  hashesOf,
  keyId,
  SIGNATURE_FILE,
  type Signed,
  sha256,
  signatureOf,
  signedBy,
  trustedFiles,
  unsafeReason,
} from './trust.ts'

/** The files that a package comes to as it is installed, by their names, and who says so. */
export interface PackageContents {
  readonly id: string
  readonly version: string
  readonly files: ReadonlyMap<string, Uint8Array>
  /** The name of the entry among the files. */
  readonly entry: string
  readonly signed: Signed
}

/** The schema of its configuration in an installed folder. */
const SCHEMA_FILE = 'config.schema.json'

interface ReadOptions {
  /** Another version than its own, and then without its signature. */
  readonly version?: string
  /** What errors call it that come before its id is known; the folder's name when absent. */
  readonly name?: string
}

/**
 * Reads a built package: a folder, or an unpacked `.tgz`. A signed one is taken as it is, to the octet; of any other the
 * manifest, the schema, the entry and the modules of its commands.
 *
 * Throws `plugin_failed` (check) for what is no package, is unsafe, or was changed after it was signed.
 */
export async function readPackage(
  sourceDir: string,
  { version: asVersion, name = basename(sourceDir) }: ReadOptions = {},
): Promise<PackageContents> {
  const read = await readManifest(sourceDir, 'installed')
  if (typeof read === 'string') throw pluginFailed(name, 'check', read)
  const { id } = read.package.steeple
  const refuse = (reason: string): Error => pluginFailed(id, 'check', reason)
  const modules = modulesOf(read.package.steeple).map((module) => join(sourceDir, module))
  const texts = await textFiles(sourceDir, read.package.steeple)
  const unsafe = await unsafeReason(sourceDir, [
    join(sourceDir, 'package.json'),
    read.entry,
    ...modules,
    ...texts,
  ])
  if (unsafe !== undefined) throw refuse(unsafe)
  const whole = asVersion === undefined ? await wholeFolder(id, sourceDir) : undefined
  if (whole === undefined) return await plainContents(sourceDir, read, asVersion)
  const signed = await signedBy(sourceDir, whole)
  if (signed.kind === 'broken') throw refuse(signed.reason)
  const files = new Map<string, Uint8Array>()
  for (const [name, hash] of whole) {
    const bytes = await readFile(join(sourceDir, name))
    if (sha256(bytes) !== hash) throw refuse(`${name} changed while it was read`)
    files.set(name, bytes)
  }
  return { id, version: read.package.version, files, entry: relative(sourceDir, read.entry), signed }
}

/** The files of a folder that has a signature; a project has none, and much else in it. */
async function wholeFolder(id: string, dir: string): Promise<FileHashes | undefined> {
  if (!existsSync(join(dir, SIGNATURE_FILE))) return undefined
  const files = await trustedFiles(dir)
  if ('reason' in files) throw pluginFailed(id, 'check', files.reason)
  return await hashesOf(dir, files)
}

/** What is installed of a package that nobody has signed. */
async function plainContents(
  sourceDir: string,
  { package: { name, version, steeple }, entry, section }: ReadManifest,
  asVersion?: string,
): Promise<PackageContents> {
  const { schema } = section
  const files = new Map<string, Uint8Array>()
  const own = schema === undefined ? steeple : { ...steeple, config: `./${SCHEMA_FILE}` }
  const manifest = {
    name,
    version: asVersion ?? version,
    type: 'module',
    exports: { '.': './plugin.js' },
    steeple: own,
  }
  files.set('package.json', jsonFile(manifest))
  files.set('plugin.js', await readFile(entry))
  for (const module of modulesOf(steeple))
    files.set(normalize(module), await readFile(join(sourceDir, module)))
  for (const file of await textFiles(sourceDir, steeple))
    files.set(relative(sourceDir, file), await readFile(file))
  if (schema !== undefined) files.set(SCHEMA_FILE, jsonFile(schema))
  return {
    id: steeple.id,
    version: manifest.version,
    files,
    entry: 'plugin.js',
    signed: { kind: 'unsigned' },
  }
}

/** What it says in the console, each language a file; none where it has no such folder. */
async function textFiles(dir: string, { texts }: Manifest): Promise<readonly string[]> {
  if (texts === undefined) return []
  const names = await readdir(join(dir, texts)).catch(() => [])
  return names.filter((name) => /^[a-z]{2}\.json$/.test(name)).map((name) => join(dir, texts, name))
}

/** The files that have code of its commands, as the manifest names them. */
function modulesOf({ commands = [] }: Manifest): readonly string[] {
  return [...new Set(commands.flatMap((command) => ('module' in command ? command.module : [])))]
}

/** The same contents without their signature. */
export function unsigned(contents: PackageContents): PackageContents {
  const files = new Map([...contents.files].filter(([name]) => name !== SIGNATURE_FILE))
  return { ...contents, files, signed: { kind: 'unsigned' } }
}

export function hashesOfContents({ files }: PackageContents): FileHashes {
  return new Map([...files].map(([name, bytes]) => [name, sha256(bytes)]))
}

function jsonFile(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}

/** A line of each README that `svc plugin new` writes. */
const SCAFFOLD = 'This is the text of svc plugin new'
/** What the keys of a section are called in a text: the whole path. */
const WORD = '[a-z0-9_]'

/**
 * What is wrong with the README that goes along with a package: it is that of the template, or does not name what the manifest has.
 * It is what an operator reads before he trusts a plugin.
 */
function readmeWarnings(
  readme: string | undefined,
  { package: { steeple }, section }: Pick<ReadManifest, 'package' | 'section'>,
): readonly string[] {
  if (readme === undefined)
    return [
      'there is no README.md: say what it is for, what its keys are, and what it does when something fails',
    ]
  const keys = leavesOf(section.schema ?? {}).map(({ path }) => path.join('.'))
  const missing = keys.filter((key) => !hasWord(readme, key))
  const gone = keysIn(readme, steeple.config_path).filter((key) => !isKnown(key, keys))
  return [
    ...(readme.includes(SCAFFOLD) ? ['README.md is still the text of svc plugin new'] : []),
    ...[steeple.id, steeple.kind].flatMap((word, at) =>
      hasWord(readme, word) ? [] : [`README.md does not name its ${at === 0 ? 'id' : 'kind'}, ${word}`],
    ),
    ...(missing.length === 0 ? [] : [`README.md does not name the configuration's ${missing.join(', ')}`]),
    ...(gone.length === 0
      ? []
      : [`README.md names ${gone.join(', ')}, which config.schema.json does not have`]),
  ]
}

/** Names begin and end where the characters of names do; how they are written does not matter. */
function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?<!${WORD})${escaped(word)}(?!${WORD})`, 'i').test(text)
}

/** The keys under a path that a text names. */
function keysIn(text: string, path: string): readonly string[] {
  const key = new RegExp(`(?<![a-z0-9_./-])${escaped(path)}(?:\\.${WORD}+)+`, 'g')
  // A file of that name, and the name of a service, are no keys.
  return [...new Set([...text.matchAll(key)].map(([found]) => found))].filter(
    (found) => !/\.(ts|js|json|md|yaml|tgz|driver|transmitter)$/.test(found),
  )
}

/** Also a group of keys, and what lies under a key that is an object. */
function isKnown(key: string, keys: readonly string[]): boolean {
  return keys.some((one) => one === key || one.startsWith(`${key}.`) || key.startsWith(`${one}.`))
}

function escaped(word: string): string {
  return word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** As npm dates the files of a package. */
const TIME = new Date('1985-10-26T08:15:00Z')

/** The files as a tar archive, as `npm pack` has them below `package/`: by name, all of one owner, mode and time. */
export async function tarOf(files: ReadonlyMap<string, Uint8Array>): Promise<Uint8Array> {
  const byName = [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const entries = byName.map(([name, body]) => ({
    header: { name: `package/${name}`, size: body.length, mode: 0o644, mtime: TIME },
    body,
  }))
  return await packTar(entries)
}

interface PackedPlugin {
  readonly id: string
  readonly version: string
  /** Path of the `.tgz`. */
  readonly file: string
  /** The key's id, as people tell keys apart; undefined for one without a signature. */
  readonly signedBy: string | undefined
  /** What whoever gets it will miss in its README; each is a sentence. */
  readonly warnings: readonly string[]
}

interface PackOptions {
  /** The folder that the `.tgz` is put into. */
  readonly out: string
  /** Nobody signs it when absent. */
  readonly key?: SigningKey
}

/** What goes along for people, where it is there. */
const TEXTS = ['README.md', 'LICENSE', 'LICENSE.md', 'NOTICE']

/**
 * Packs a built plugin as `<id>-<version>.tgz`: its manifest, the schema of its configuration, its programs, README and
 * licence, and a signature over all of them. The same files and key give the same octets.
 *
 * Throws `plugin_failed` (check) for what is no built plugin.
 */
export async function packPlugin(sourceDir: string, { out, key }: PackOptions): Promise<PackedPlugin> {
  const contents = unsigned(await readPackage(sourceDir))
  const files = new Map(contents.files)
  for (const name of TEXTS) {
    const text = await readFile(join(sourceDir, name)).catch(() => undefined)
    if (text !== undefined && !files.has(name)) files.set(name, text)
  }
  const { id, version } = contents
  if (key !== undefined)
    files.set(SIGNATURE_FILE, Buffer.from(signatureOf(hashesOfContents({ ...contents, files }), key)))
  const archive = await promisify(gzip)(await tarOf(files), { level: 9 })
  await mkdir(out, { recursive: true })
  const file = join(out, `${id}-${version}.tgz`)
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, archive)
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
  return {
    id,
    version,
    file,
    signedBy: key === undefined ? undefined : keyId(key.publicKey),
    warnings: await warningsOf(sourceDir, files.get('README.md')),
  }
}

async function warningsOf(sourceDir: string, readme: Uint8Array | undefined): Promise<readonly string[]> {
  const read = await readManifest(sourceDir, 'installed')
  if (typeof read === 'string') return []
  return readmeWarnings(readme === undefined ? undefined : Buffer.from(readme).toString(), read)
}
