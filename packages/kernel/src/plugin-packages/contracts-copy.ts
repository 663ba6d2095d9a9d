import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** The copy of `@steeple/contracts` that the service runs with: file URL of its entry, and its version. */
export interface HostContracts {
  readonly contractsUrl: string
  readonly contractsVersion: string
}

/** Finds it beside the kernel. */
export function hostContracts(): HostContracts {
  const path = findPackageJSON('@steeple/contracts', import.meta.url)
  if (path === undefined) throw new TypeError('@steeple/contracts has no package.json')
  // The file is part of the build.
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string }
  return { contractsUrl: import.meta.resolve('@steeple/contracts'), contractsVersion: version }
}
