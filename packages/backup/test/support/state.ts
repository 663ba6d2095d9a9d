import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CapturedState, StateFacts } from '@steeple/contracts'
import { tempDir } from '@steeple/testkit'
import { type ArchiveSink, readArchive, writeArchive } from '../../src/format/archive.ts'
import type { Cost } from '../../src/format/frames.ts'

/** The least that scrypt takes: what is tested is not how hard a passphrase is to guess. */
export const CHEAP: Cost = { logN: 1, r: 1, p: 1 }
export const PASSPHRASE: Buffer = Buffer.from('zwölf Zeichen sind genug')

export const FACTS: StateFacts = {
  nodeId: '5c0d8a1e-5c3b-4f43-9d3c-0f6a4d3f2b11',
  nodeName: 'hill',
  version: '0.1.0',
  schema: { kernel: '0009_closed' },
  counts: { sims_sim: 3 },
  hasKeys: true,
  takenAtMs: Date.UTC(2026, 10, 22),
}

/** A state of these files, in a directory that is removed with it. */
export async function stateOf(files: Readonly<Record<string, Uint8Array>>): Promise<CapturedState> {
  const dir = await tempDir()
  const written = Object.entries(files).map(async ([name, bytes], index) => {
    const path = join(dir.path, String(index))
    await writeFile(path, bytes)
    return { name, path, size: bytes.length }
  })
  return { facts: FACTS, files: await Promise.all(written), release: () => dir.remove() }
}

/** Two files that pack to some hundred octets. */
export function smallState(): Promise<CapturedState> {
  return stateOf({ 'store.db': randomBytes(40), 'keys/vault.key': randomBytes(32) })
}

export async function archiveOf(state: CapturedState, passphrase?: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of writeArchive(state, passphrase, { cost: CHEAP })) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** What a reading of these octets gave: its files, or the code of the error. */
export async function readBack(
  archive: Uint8Array,
  passphrase?: Buffer,
  pieceBytes = 65_536,
  room?: (bytes: number) => Promise<void>,
): Promise<ReadonlyMap<string, Buffer> | string> {
  const files = new Map<string, Buffer>()
  const sink: ArchiveSink = {
    room: async (bytes) => void (await room?.(bytes)),
    add: async (name, _size, chunks) => {
      const pieces: Uint8Array[] = []
      for await (const chunk of chunks) pieces.push(chunk)
      files.set(name, Buffer.concat(pieces))
    },
  }
  try {
    await readArchive(inPieces(archive, pieceBytes), passphrase, sink)
    return files
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
