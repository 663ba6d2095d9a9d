import { createHash } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** What the manifest of a batch says. No secrets, hashes only. */
export interface Manifest {
  readonly batch_id: string
  readonly created_at: string
  readonly plmn: string
  readonly profile: string
  readonly label: string | null
  readonly sims: readonly {
    readonly imsi_sha256_12: string
    readonly iccid_last4: string | null
    readonly expires_at: string
  }[]
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

/**
 * Writes the files of a batch, durable when it resolves.
 *
 * They come before the batch is in the store: without its row nobody has the key, and the sweep removes the directory.
 */
export async function writeBatch(dataDir: string, manifest: Manifest, sealed: Uint8Array): Promise<void> {
  const parent = batchesDir(dataDir)
  const dir = batchDir(dataDir, manifest.batch_id)
  await mkdir(dir, { mode: 0o700 }).catch(async () => {
    // The first batch of a node.
    await mkdir(parent, { recursive: true, mode: 0o700 })
    await mkdir(dir, { mode: 0o700 })
  })
  const cards = {
    file: CARDS_FILE,
    bytes: sealed.length,
    sha256: createHash('sha256').update(sealed).digest('hex'),
  }
  const text = `${JSON.stringify({ ...manifest, count: manifest.sims.length, cards }, undefined, 2)}\n`
  await Promise.all([
    writeDurably(join(dir, CARDS_FILE), sealed),
    writeDurably(join(dir, MANIFEST_FILE), Buffer.from(text)),
  ])
  await Promise.all([syncDirectory(dir), syncDirectory(parent)])
}

/** Removes the files of a batch. Idempotent. */
export async function removeBatch(dataDir: string, batchId: string): Promise<void> {
  await rm(batchDir(dataDir, batchId), { recursive: true, force: true })
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
