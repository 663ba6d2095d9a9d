import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

const MOST_OCTETS = 8_192

/**
 * The lines of a file with secrets, without empty ones. Throws an Error that names the file and says what is wrong with it,
 * never what is in it: others can read it, it is no plain file, it is empty or larger than 8 KiB.
 */
export async function secretLines(path: string): Promise<readonly string[]> {
  const refuse = (problem: string): Error => new Error(`${path} ${problem}`)
  // A pipe would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw refuse(`cannot be read: ${codeOf(error)}`)
  })
  try {
    const { mode, size, isPlain } = await file.stat().then((stat) => ({
      mode: stat.mode,
      size: stat.size,
      isPlain: stat.isFile(),
    }))
    if (!isPlain) throw refuse('is no plain file')
    if ((mode & 0o077) !== 0) throw refuse('can be read by others; chmod 600 it')
    if (size > MOST_OCTETS) throw refuse('is larger than 8 KiB')
    const text = await file.readFile('utf8')
    const lines = text.split(/\r?\n/).map((line) => line.trim())
    const full = lines.filter((line) => line !== '')
    if (full.length === 0) throw refuse('is empty')
    return full
  } finally {
    await file.close()
  }
}

/** The code of what the system refused, such as ENOENT. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
