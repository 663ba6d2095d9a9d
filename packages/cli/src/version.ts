import { existsSync, readFileSync } from 'node:fs'
import { packageRoot } from './package-root.ts'

/** What a build that was made to be given away says of itself. `build.json` in the folder of this package. */
export interface BuildRecord {
  readonly version: string
  /** The commit, with `+changes` where files differed from it, or `unknown`. */
  readonly commit: string
  /** When the commit was made, RFC 3339. */
  readonly date: string
  /** `x64` or `arm64`. */
  readonly arch: string
  /** Version of the Node.js in it, or `not included`. */
  readonly node: string
  /** Packages that a build can have or not: those that this one has, and those that it lacks. */
  readonly has: readonly string[]
  readonly lacks: readonly string[]
  /** The keys of the configuration that each plugin which it lacks would read, by the plugin's id. */
  readonly absentKeys?: Readonly<Record<string, readonly string[]>>
  /** Their alert rules. */
  readonly absentRules?: Readonly<Record<string, readonly string[]>>
}

/** When the newest commit of this build was made, RFC 3339; undefined for a checkout. */
export function buildDate(): string | undefined {
  return buildRecord()?.date
}

/** The version in this package's manifest. */
export function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('package.json', packageRoot()), 'utf8'))
  // The file is this package's own.
  return (manifest as { readonly version: string }).version
}

/** What this build says of itself; undefined for a checkout. */
export function buildRecord(): BuildRecord | undefined {
  const file = new URL('build.json', packageRoot())
  if (!existsSync(file)) return undefined
  // The build wrote it.
  return JSON.parse(readFileSync(file, 'utf8')) as BuildRecord
}

/** What `svc --version` prints: the version, and of a build its commit, when that was made, what it has and what it lacks. */
export function versionText(): string {
  const build = buildRecord()
  if (build === undefined) return ownVersion()
  const { version, commit, date, arch, node, has, lacks } = build
  const names = (list: readonly string[]): string => (list.length === 0 ? 'nothing' : list.join(' '))
  return [
    version,
    `commit  ${commit}`,
    `date    ${date}`,
    `for     linux ${arch}, node ${node}`,
    `has     ${names(has)}`,
    `lacks   ${names(lacks)}`,
  ].join('\n')
}
