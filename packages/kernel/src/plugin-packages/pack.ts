import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { createManifestReader } from './manifest.ts'
import { hashesOfContents, readPackage, unsigned } from './package-contents.ts'
import { readmeWarnings } from './readme-warnings.ts'
import { SIGNATURE_FILE, signatureOf } from './signature.ts'
import { keyId, type SigningKey } from './signing-key.ts'
import { tarOf } from './tar.ts'

/** A package that was made. */
export interface PackedPlugin {
  readonly id: string
  readonly version: string
  /** Path of the `.tgz`. */
  readonly file: string
  /** The key's id, as people tell keys apart; undefined for one without a signature. */
  readonly signedBy: string | undefined
  /** What whoever gets it will miss in its README; each is a sentence. */
  readonly warnings: readonly string[]
}

/** How a package is made. */
export interface PackOptions {
  /** The folder that the `.tgz` is put into. */
  readonly out: string
  /** Nobody signs it when absent. */
  readonly key?: SigningKey
}

/** What goes along for people, where it is there. */
const TEXTS = ['README.md', 'LICENSE', 'LICENSE.md', 'NOTICE']

/**
 * Packs a built plugin as `<id>-<version>.tgz`: its manifest, the schema of its configuration, its one program, README and
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
  const archive = await promisify(gzip)(tarOf(files), { level: 9 })
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
  const read = await createManifestReader().read(sourceDir, 'installed')
  if (typeof read === 'string') return []
  return readmeWarnings(readme === undefined ? undefined : Buffer.from(readme).toString(), read)
}
