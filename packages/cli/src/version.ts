import { readFileSync } from 'node:fs'
import { packageRoot } from './package-root.ts'

/** The version in this package's manifest. */
export function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', packageRoot()), 'utf8'))
  // The file is this package's own.
  return (manifest as { readonly version: string }).version
}
