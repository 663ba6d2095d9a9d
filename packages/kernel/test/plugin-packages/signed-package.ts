import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { makeSigningKey, type SigningKey } from '@steeple/contracts'
import { unpackTar } from 'modern-tar'
import { packPlugin, tarOf } from '../../src/plugin-packages/pack.ts'

/** A built plugin in a folder of its own. */
export async function writeBuilt(root: string, id: string, version = '1.0.0', more = ''): Promise<string> {
  const dir = join(root, `${id}-${version}-source`)
  await mkdir(dir, { recursive: true })
  const steeple = {
    id,
    kind: 'feature',
    contracts: '^0.1.0',
    config_path: id.replaceAll('-', '_'),
    config: './config.schema.json',
    handover: 'overlap',
  }
  const text = { name: `@test/${id}`, version, type: 'module', exports: { '.': './plugin.js' }, steeple }
  await writeFile(join(dir, 'package.json'), JSON.stringify(text))
  await writeFile(join(dir, 'config.schema.json'), '{"properties": {}}')
  await writeFile(join(dir, 'README.md'), `# ${id}\n`)
  await writeFile(join(dir, 'plugin.js'), `export const plugin = { setup: async () => ({}) }\n${more}`)
  return dir
}

/** A key, and its entry for `plugins.trust`. */
export async function keyOf(root: string, name: string): Promise<{ key: SigningKey; entry: string }> {
  const key = await makeSigningKey(join(root, `${name}.key`))
  return { key, entry: `${key.publicKey} ${name}` }
}

/** Path of a signed package of a small plugin. */
export async function signedPackage(
  root: string,
  key: SigningKey,
  id = 'sample',
  version = '1.0.0',
): Promise<string> {
  return (await packPlugin(await writeBuilt(root, id, version), { out: root, key })).file
}

/** The files of a package, by name. */
export async function filesOf(file: string): Promise<Map<string, Buffer>> {
  const entries = await unpackTar(await promisify(gunzip)(await readFile(file)), { strict: true })
  return new Map(
    entries.map(({ header, data }) => [header.name.replace('package/', ''), Buffer.from(data ?? [])]),
  )
}

/** Writes a package anew with other files. */
export async function rewrite(file: string, change: (files: Map<string, Buffer>) => void): Promise<void> {
  const files = await filesOf(file)
  change(files)
  await writeFile(file, await promisify(gzip)(await tarOf(files)))
}
