import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failure } from '../command-error.ts'
import { packageRoot } from '../package-root.ts'
import { contractsVersion } from './package-files.ts'

/** What a plugin's project needs of us, in the registry or as files. They are of one version. */
const PUBLISHED = ['contracts', 'plugin-kit', 'testkit'] as const
/** Where the files lie in the project. */
const VENDOR = 'vendor'

/** What a project depends on: name → version, or `file:` of a package in its folder `vendor`. */
export interface Published {
  readonly packages: Readonly<Record<string, string>>
  /** Puts the files into the project. */
  copyInto(dir: string): readonly string[]
}

/** For `--packages`: npm's registry, whatever this installation has. */
export const REGISTRY = 'registry'

/**
 * The packages of this installation's version: as `.tgz` from a folder, which are copied, so that the project works wherever it is
 * put; those that a build carries when none is named; from npm's registry else. Throws `packages_missing`.
 */
export function publishedPackages(named: string | undefined): Published {
  const version = contractsVersion()
  const folder = named ?? ownFolder()
  if (folder === undefined || named === REGISTRY) {
    const packages = Object.fromEntries(PUBLISHED.map((name) => [`@steeple/${name}`, `^${version}`]))
    return { packages, copyInto: () => [] }
  }
  const files = PUBLISHED.map((name) => `steeple-${name}-${version}.tgz`)
  const missing = files.filter((file) => !existsSync(join(folder, file)))
  if (missing.length > 0) throw packagesMissing(folder, missing)
  const packages = PUBLISHED.map((name, at) => [`@steeple/${name}`, `file:${VENDOR}/${files[at]}`])
  return {
    packages: Object.fromEntries(packages),
    copyInto: (dir) => {
      mkdirSync(join(dir, VENDOR), { recursive: true })
      return files.map((file) => {
        copyFileSync(join(folder, file), join(dir, VENDOR, file))
        return join(dir, VENDOR, file)
      })
    },
  }
}

/** In a build, beside everything. */
function ownFolder(): string | undefined {
  const folder = fileURLToPath(new URL('../../../../share/npm/', packageRoot()))
  return existsSync(folder) ? folder : undefined
}

function packagesMissing(folder: string, missing: readonly string[]): Error {
  const there = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.tgz')) : []
  const found = there.length === 0 ? 'no .tgz is there' : `there are ${there.join(', ')}`
  return failure('packages_missing', `${folder} lacks ${missing.join(', ')}; ${found}`, {
    hint: 'npm run pack -- npm in the repository writes them into packed/',
  })
}
