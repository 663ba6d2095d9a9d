import { open } from 'node:fs/promises'
import { replaceFile } from '@steeple/contracts'
import { failure } from '../command-error.ts'

/** Writes a file that only its owner can read. Throws `cannot_write` with the reason. */
export async function writeSecret(file: string, content: string | Uint8Array): Promise<void> {
  try {
    await using handle = await open(file, 'w', 0o600)
    // One that was there has kept its mode.
    await handle.chmod(0o600)
    await handle.writeFile(content)
  } catch (error) {
    throw cannotWrite(file, error)
  }
}

/** The same for one that others read meanwhile: they see what was there or all that is new. Throws `cannot_write`. */
export async function replaceSecret(file: string, content: string): Promise<void> {
  try {
    await replaceFile(file, content)
  } catch (error) {
    throw cannotWrite(file, error)
  }
}

function cannotWrite(file: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error)
  return failure('cannot_write', `${file} cannot be written: ${reason}`)
}
