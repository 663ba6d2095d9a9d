import { isRecord, jsonIn } from '@steeple/contracts'
import { isSafePath } from './files.ts'

/** The name of the manifest in a configuration directory. */
export const MANIFEST_NAME = '.steeple.json'

/** A file as it was when its daemon was last seen well with it. */
export interface AppliedFile {
  readonly sha256: string
  readonly daemon: string
  /** RFC 3339. */
  readonly applied_at: string
}

/**
 * What is known of a configuration directory. Every step that could be cut short is written down before it is taken, so
 * that the next one knows what to do again.
 */
export interface Manifest {
  readonly version: 1
  /** The set that the core was last seen well with, and the name of its copy. */
  readonly applied:
    | {
        readonly sha256: string
        readonly at: string
        readonly backup: string
        /** Where its daemons listen, by role. */
        readonly addresses?: Readonly<Record<string, string>>
      }
    | undefined
  /** The files of that set: ours. */
  readonly files: Readonly<Record<string, AppliedFile>>
  /** An apply that has begun: daemons not yet seen well, files it may have written, backup to go back to. */
  readonly pending:
    | {
        readonly daemons: readonly string[]
        readonly files: readonly string[]
        readonly fallback: string | undefined
      }
    | undefined
  /** The last set that the core refused, and why. */
  readonly refused: { readonly key: string; readonly words: string; readonly at: string } | undefined
  /** Paths of files of others that an operator has agreed to be replaced; none once they are. */
  readonly takenOver: readonly string[]
}

/** A manifest of a directory where nothing was applied. */
export const NO_MANIFEST: Manifest = {
  version: 1,
  applied: undefined,
  files: {},
  pending: undefined,
  refused: undefined,
  takenOver: [],
}

/** Reads a manifest's text; undefined when it is none. */
export function parseManifest(text: string): Manifest | undefined {
  const read = jsonIn(text)
  if (!isRecord(read) || read.version !== 1) return undefined
  const files = filesOf(read.files)
  const applied = appliedOf(read.applied)
  const pending = pendingOf(read.pending)
  const refused = textsOf(read.refused, ['key', 'words', 'at'])
  if (files === undefined || applied === false || pending === false || refused === false) return undefined
  const takenOver = isTexts(read.takenOver) ? read.takenOver : []
  return { version: 1, applied, files, pending, refused, takenOver }
}

/** The paths that are ours: applied, or written by an apply that has begun. */
export function ownPaths(manifest: Manifest): ReadonlySet<string> {
  return new Set([...Object.keys(manifest.files), ...(manifest.pending?.files ?? [])])
}

function filesOf(value: unknown): Readonly<Record<string, AppliedFile>> | undefined {
  if (!isRecord(value)) return undefined
  const entries: [string, AppliedFile][] = []
  for (const [path, entry] of Object.entries(value)) {
    const file = textsOf(entry, ['sha256', 'daemon', 'applied_at'])
    if (file === undefined || file === false || !isSafePath(path)) return undefined
    entries.push([path, file])
  }
  return Object.fromEntries(entries)
}

/** The record with those texts; undefined when absent, false when it is something else. */
function textsOf<Key extends string>(
  value: unknown,
  keys: readonly Key[],
): Readonly<Record<Key, string>> | undefined | false {
  if (value === undefined || value === null) return undefined
  if (!isRecord(value) || !keys.every((key) => typeof value[key] === 'string')) return false
  // Every key was seen to hold a text.
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Record<Key, string>
}

function appliedOf(value: unknown): Manifest['applied'] | false {
  const applied = textsOf(value, ['sha256', 'at', 'backup'])
  if (applied === undefined || applied === false || !isRecord(value)) return applied
  const { addresses } = value
  return {
    ...applied,
    ...(isTextByRole(addresses) ? { addresses } : {}),
  }
}

function pendingOf(value: unknown): Manifest['pending'] | false {
  if (value === undefined || value === null) return undefined
  if (!isRecord(value) || !isTexts(value.daemons) || !isTexts(value.files)) return false
  const { daemons, files, fallback } = value
  if (!files.every(isSafePath) || (fallback !== undefined && typeof fallback !== 'string')) return false
  return { daemons, files, fallback }
}

function isTextByRole(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((item) => typeof item === 'string')
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
