import { readFileSync } from 'node:fs'
import { packageRoot } from './package-root.ts'

/** Put in place by the build; absent when the sources run. */
declare const STEEPLE_BUILD_DATE: string | undefined

/** When the newest commit of this build was made, RFC 3339; undefined when that is not known. */
export function buildDate(): string | undefined {
  const date = typeof STEEPLE_BUILD_DATE === 'string' ? STEEPLE_BUILD_DATE : ''
  return date === '' ? undefined : date
}

/** The version in this package's manifest. */
export function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', packageRoot()), 'utf8'))
  // The file is this package's own.
  return (manifest as { readonly version: string }).version
}
