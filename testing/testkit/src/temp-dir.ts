import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory of its own that a test may fill. */
export interface TempDir {
  readonly path: string
  /** Removes it with everything in it. Idempotent. */
  remove(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes an empty directory, mode 0700. Use `await using`, or call `remove` in an `after` hook. */
export async function tempDir(prefix = 'steeple-test-'): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), prefix))
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 })
  return { path, remove, [Symbol.asyncDispose]: remove }
}
