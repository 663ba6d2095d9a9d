import { readFile } from 'node:fs/promises'
import { basename, join, normalize, relative } from 'node:path'
import { type Manifest, pluginFailed } from '@steeple/contracts'
import { type FileHashes, hashesOf, sha256 } from './content-hash.ts'
import { createManifestReader, type ReadManifest } from './manifest.ts'
import { SIGNATURE_FILE, type Signed, signedBy } from './signature.ts'
import { unsafeReason } from './sources.ts'
import { trustedFiles } from './trust.ts'

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

/** How a package is read. */
export interface ReadOptions {
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
  const read = await createManifestReader().read(sourceDir, 'installed')
  if (typeof read === 'string') throw pluginFailed(name, 'check', read)
  const { id } = read.package.steeple
  const refuse = (reason: string): Error => pluginFailed(id, 'check', reason)
  const modules = modulesOf(read.package.steeple).map((module) => join(sourceDir, module))
  const unsafe = await unsafeReason(sourceDir, [join(sourceDir, 'package.json'), read.entry, ...modules])
  if (unsafe !== undefined) throw refuse(unsafe)
  const whole = asVersion === undefined ? await wholeFolder(id, sourceDir) : undefined
  if (whole === undefined) return await plainContents(sourceDir, read, asVersion)
  const signed = await signedBy(sourceDir, whole.hashes)
  if (signed.kind === 'broken') throw refuse(signed.reason)
  const files = new Map<string, Uint8Array>()
  for (const [name, hash] of whole.hashes) {
    const bytes = await readFile(join(sourceDir, name))
    if (sha256(bytes) !== hash) throw refuse(`${name} changed while it was read`)
    files.set(name, bytes)
  }
  return { id, version: read.package.version, files, entry: relative(sourceDir, read.entry), signed }
}

/** The files of a folder that has a signature; a project has none, and much else in it. */
async function wholeFolder(id: string, dir: string): Promise<{ readonly hashes: FileHashes } | undefined> {
  const isSigned = await readFile(join(dir, SIGNATURE_FILE)).then(
    () => true,
    () => false,
  )
  if (!isSigned) return undefined
  const files = await trustedFiles(dir)
  if ('reason' in files) throw pluginFailed(id, 'check', files.reason)
  return { hashes: await hashesOf(dir, files) }
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
  if (schema !== undefined) files.set(SCHEMA_FILE, jsonFile(schema))
  return {
    id: steeple.id,
    version: manifest.version,
    files,
    entry: 'plugin.js',
    signed: { kind: 'unsigned' },
  }
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

/** The hashes of its files. */
export function hashesOfContents({ files }: PackageContents): FileHashes {
  return new Map([...files].map(([name, bytes]) => [name, sha256(bytes)]))
}

function jsonFile(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}
