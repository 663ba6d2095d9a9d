import type { CapturedState } from '@steeple/contracts'
import type { ByteReader } from './format/byte-reader.ts'
import type { Manifest } from './format/manifest.ts'

/** What the process for archives is asked to do; its first message. */
export type ArchiveOrder = PackOrder | ReadOrder

/** Writes the backup of a state to standard output. */
export interface PackOrder {
  readonly work: 'pack'
  readonly state: Omit<CapturedState, 'release'>
  /** Of the passphrase's octets, in base64; none: it is not encrypted. */
  readonly passphrase?: string
}

/** Reads a backup from standard input, behind the order, and gives its files. */
export interface ReadOrder {
  readonly work: 'read'
  readonly passphrase?: string
  /** Nobody wants the files: it is checked alone. */
  readonly isCheck: boolean
}

/** What comes back of a backup that is read: the size of all, each file with its octets behind it, and the manifest once all is proven. */
export type ArchiveReport =
  | { readonly bytes: number }
  | { readonly name: string; readonly size: number }
  | { readonly manifest: Manifest }

/** Why the process gave up; on its fourth descriptor. */
export interface ArchiveFailure {
  readonly message: string
  /** Of an error that has a code. */
  readonly code?: string
  readonly status?: number
}

/** The largest message: a manifest is the longest there is, and its text is escaped once more. */
const MOST_BYTES = 64 * 1_048_576

/** A message as it goes through a pipe: its length in 4 octets, and JSON. */
export function messageBytes(message: ArchiveOrder | ArchiveReport | ArchiveFailure): Buffer {
  const text = Buffer.from(JSON.stringify(message), 'utf8')
  const head = Buffer.alloc(4)
  head.writeUInt32BE(text.length)
  return Buffer.concat([head, text])
}

/** The next message; undefined at the end, or when it is cut off. The other end is this package's own. */
export async function nextMessage<T extends ArchiveOrder | ArchiveReport | ArchiveFailure>(
  reader: ByteReader,
): Promise<T | undefined> {
  const head = await reader.take(4)
  if (head.length < 4) return undefined
  const length = head.readUInt32BE()
  if (length > MOST_BYTES) throw new Error(`a message of ${length} octets`)
  const text = await reader.take(length)
  return text.length < length ? undefined : (JSON.parse(text.toString('utf8')) as T) // `messageBytes` wrote it
}
