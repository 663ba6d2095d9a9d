import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** Why a file cannot be read, besides the codes of the system. */
const NO_FILE = 'it is a pipe, a device or a directory where a file must be'

/**
 * A file, open for reading. Waits for nobody: a pipe that nobody writes would hold one of the few threads that all files
 * of the service are read by. Throws an error whose `code` says why, for people where the system has no word for it.
 */
export async function openPlain(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw Object.assign(new Error(NO_FILE), { code: NO_FILE })
}
