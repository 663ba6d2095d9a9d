import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runSvc } from '../service.ts'
import { type PluginBuild, packageJsonOf } from './install-version.ts'

/** Who signs plugins, and what a box writes down to trust it. */
export interface Signer {
  readonly keyFile: string
  /** For `plugins.trust`. */
  readonly trust: string
}

/** Makes a key in a folder. */
export async function newSigner(folder: string): Promise<Signer> {
  const keyFile = join(folder, 'plugins.key')
  const { stdout } = await runSvc(['plugin', 'key', keyFile, '--name', 'alice', '--json'])
  return { keyFile, trust: JSON.parse(stdout).trust }
}

/** Packs and signs a build as its author would; gives the file. */
export async function packSigned(folder: string, { keyFile }: Signer, build: PluginBuild): Promise<string> {
  const place = join(folder, `${build.id}-${build.version}`)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), packageJsonOf(build))
  writeFileSync(join(place, 'plugin.js'), build.code)
  writeFileSync(join(place, 'README.md'), `# ${build.id}\n\nOf a test.\n`)
  const { code, stderr } = await runSvc(['plugin', 'pack', place, '--key', keyFile])
  if (code !== 0) throw new Error(`svc plugin pack ended with ${code}: ${stderr}`)
  return join(place, `${build.id}-${build.version}.tgz`)
}
