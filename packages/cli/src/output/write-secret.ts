import { open } from 'node:fs/promises'
import { failure } from '../command-error.ts'

/** Writes a file that only its owner can read. Throws `cannot_write` with the reason. */
export async function writeSecret(file: string, content: string | Uint8Array): Promise<void> {
  try {
    await using handle = await open(file, 'w', 0o600)
    // One that was there has kept its mode.
    await handle.chmod(0o600)
    await handle.writeFile(content)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw failure('cannot_write', `${file} cannot be written: ${reason}`)
  }
}
