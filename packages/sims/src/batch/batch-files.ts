import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Manifest } from './manifest.ts'

/** The contents of the files of a batch. */
export interface BatchFiles {
  readonly manifest: Uint8Array
  readonly cards: Uint8Array
}

/** File of the sealed cards in the directory of a batch. */
export const CARDS_FILE = 'cards.csv.sealed'
/** File of the manifest in the directory of a batch. */
export const MANIFEST_FILE = 'manifest.json'

/** The directory of all batches. */
export function batchesDir(dataDir: string): string {
  return resolve(join(dataDir, 'batches'))
}

/** The directory of one batch. */
export function batchDir(dataDir: string, batchId: string): string {
  return join(batchesDir(dataDir), batchId)
}

/** The files of a batch with that manifest and those sealed cards. */
export function batchFiles(manifest: Manifest, sealed: Uint8Array): BatchFiles {
  const cards = { file: CARDS_FILE, bytes: sealed.length, sha256: sha256(sealed) }
  const text = `${JSON.stringify({ ...manifest, count: manifest.sims.length, cards }, undefined, 2)}\n`
  return { manifest: Buffer.from(text), cards: sealed }
}

/**
 * Writes the files of a new batch for readers on this machine. They are not synced: whatever happens to them is repaired
 * from the rows of the batch. Synchronous, because two small files in the page cache cost a fifth of the way to the
 * thread pool and back.
 */
export function writeNewBatch(dataDir: string, batchId: string, files: BatchFiles): void {
  const dir = batchDir(dataDir, batchId)
  mkdirSync(dir, { mode: 0o700, recursive: true })
  writeFileSync(join(dir, CARDS_FILE), files.cards, { mode: 0o600 })
  writeFileSync(join(dir, MANIFEST_FILE), files.manifest, { mode: 0o600 })
}

/** Puts the files of a batch in the place of what is there, each of them at once as a whole. */
export async function replaceBatch(dataDir: string, batchId: string, files: BatchFiles): Promise<void> {
  const dir = batchDir(dataDir, batchId)
  await mkdir(dir, { mode: 0o700, recursive: true })
  await replaceFile(join(dir, CARDS_FILE), files.cards)
  await replaceFile(join(dir, MANIFEST_FILE), files.manifest)
}

/** Makes the files of a batch durable. */
export async function syncBatch(dataDir: string, batchId: string): Promise<void> {
  const dir = batchDir(dataDir, batchId)
  for (const path of [join(dir, CARDS_FILE), join(dir, MANIFEST_FILE), dir]) await syncPath(path)
}

/** Makes the names of the directories of batches durable. */
export async function syncBatchNames(dataDir: string): Promise<void> {
  await syncPath(batchesDir(dataDir))
}

/** Whether both files of a batch are there, whole, and of that batch. */
export async function isBatchWhole(dataDir: string, batchId: string, sims: number): Promise<boolean> {
  const dir = batchDir(dataDir, batchId)
  try {
    const cards = await readFile(join(dir, CARDS_FILE))
    const manifest: unknown = JSON.parse(await readFile(join(dir, MANIFEST_FILE), 'utf8'))
    return isManifestOf(manifest, batchId, sims, cards)
  } catch {
    // Missing, unreadable or no JSON: it is written again, and that says what is wrong with the disk.
    return false
  }
}

/** Removes the files of a batch. Idempotent. */
export async function removeBatch(dataDir: string, batchId: string): Promise<void> {
  await rm(batchDir(dataDir, batchId), { recursive: true, force: true })
}

function isManifestOf(manifest: unknown, batchId: string, sims: number, cards: Uint8Array): boolean {
  if (typeof manifest !== 'object' || manifest === null) return false
  // Only compared: what has another shape is another manifest.
  const said = manifest as { readonly [part: string]: unknown; readonly cards?: Record<string, unknown> }
  return (
    said.batch_id === batchId &&
    said.count === sims &&
    Array.isArray(said.sims) &&
    said.sims.length === sims &&
    said.cards?.bytes === cards.length &&
    said.cards.sha256 === sha256(cards)
  )
}

function sha256(octets: Uint8Array): string {
  return hash('sha256', octets)
}

async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.new`
  await writeFile(temporary, bytes, { mode: 0o600, flush: true })
  await rename(temporary, path)
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
