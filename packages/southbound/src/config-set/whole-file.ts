import { open } from 'node:fs/promises'

/** Mode and owner that a file gets. */
export interface FileOwner {
  readonly mode: number
  /** Set as far as this process may. */
  readonly uid?: number
  readonly gid?: number
}

/** Writes a new file and flushes it. Fails when there is one. */
export async function writeWhole(path: string, content: string, owner: FileOwner): Promise<void> {
  const { mode, uid, gid } = owner
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(content)
    if (uid !== undefined && gid !== undefined) await file.chown(uid, gid).catch(() => undefined)
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes what was renamed or removed in a folder survive a power cut. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
