import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { failure } from '../command-error.ts'

/** Writes a file that appears under its name when all of it is there; only its owner can read it. Throws `<what>_failed`. */
export async function writeWhole(
  what: string,
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  // Its own, and none that is there: somebody may write the same at once, or have put a link in its place.
  const draft = `${path}.${randomBytes(6).toString('hex')}.part`
  try {
    await using file = await open(draft, 'wx', 0o600)
    await file.chmod(0o600)
    for await (const chunk of chunks) await file.writeFile(chunk)
    await file.sync()
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    const reason = error instanceof Error ? error.message : String(error)
    throw failure(`${what}_failed`, `the ${what} did not arrive as a whole: ${reason}`, {
      hint: 'nothing is left of it; the log of the service may say more',
      cause: error,
    })
  }
}
