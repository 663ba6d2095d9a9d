import { backupInvalid, backupVersionUnsupported, type StateFacts } from '@steeple/contracts'

/** The version of what this file and its neighbours read and write. */
const FORMAT = 1
export const MANIFEST_NAME = 'manifest.json'
export const MANIFEST_LIMIT_BYTES: number = 16 * 1_048_576
/** Each is made durable by itself when it is restored. */
const MOST_MEMBERS = 50_000

export interface Member {
  readonly name: string
  readonly size: number
  /** 64 hex characters. */
  readonly sha256: string
}

/** What a backup says of itself, in its first file. */
export interface Manifest {
  readonly format: number
  readonly facts: StateFacts
  readonly members: readonly Member[]
}

export function manifestText({ facts, members }: Omit<Manifest, 'format'>): string {
  const { nodeId, nodeName, version, schema, counts, hasKeys, takenAtMs } = facts
  if (members.length > MOST_MEMBERS)
    throw new Error(`${members.length} files are too many for a backup: uninstall plugins that nobody uses`)
  const written = {
    format: FORMAT,
    created_at: new Date(takenAtMs).toISOString(),
    service_version: version,
    node: { id: nodeId, name: nodeName },
    keys: hasKeys,
    schema,
    counts,
    members,
  }
  return `${JSON.stringify(written, undefined, 2)}\n`
}

/** Reads a manifest. Throws `backup_invalid`, `backup_version_unsupported`. */
export function parseManifest(text: string): Manifest {
  const raw = parsed(text)
  const version = String(raw.service_version)
  if (typeof raw.format !== 'number') throw malformed()
  if (raw.format !== FORMAT) throw backupVersionUnsupported(version)
  const { id, name } = objectOf(raw.node)
  const takenAtMs = Date.parse(String(raw.created_at))
  const { keys: hasKeys, members } = raw
  if (typeof id !== 'string' || typeof name !== 'string' || typeof hasKeys !== 'boolean') throw malformed()
  if (Number.isNaN(takenAtMs) || !Array.isArray(members) || !members.every(isMember)) throw malformed()
  if (members.length > MOST_MEMBERS) throw backupInvalid(`it holds ${members.length} files; use another copy`)
  return {
    format: raw.format,
    facts: {
      nodeId: id,
      nodeName: name,
      version,
      schema: valuesOf(raw.schema, (value) => typeof value === 'string'),
      counts: valuesOf(raw.counts, (value) => Number.isSafeInteger(value)),
      hasKeys,
      takenAtMs,
    },
    members,
  }
}

type Json = Readonly<Record<string, unknown>>

function parsed(text: string): Json {
  try {
    return objectOf(JSON.parse(text))
  } catch (cause) {
    throw malformed(cause)
  }
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function valuesOf<T>(value: unknown, isValue: (one: unknown) => boolean): Readonly<Record<string, T>> {
  const object = objectOf(value)
  if (!Object.values(object).every(isValue)) throw malformed()
  return object as Readonly<Record<string, T>> // each value was looked at
}

function isMember(value: unknown): value is Member {
  const { name, size, sha256 } = objectOf(value)
  return (
    typeof name === 'string' &&
    Number.isSafeInteger(size) &&
    Number(size) >= 0 &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256)
  )
}

function malformed(cause?: unknown): Error {
  return backupInvalid('its manifest cannot be read; use another copy', { cause })
}
