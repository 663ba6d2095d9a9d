import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'

/** A place to listen or connect at. */
export interface SocketPlace {
  readonly path: string
  close(): Promise<void>
}

const NAME = 'dbctl.sock'
/** The longest path that a socket can have on Linux, with its closing zero octet. See unix(7). */
const PATH_MAX = 107

/** Where the socket of a directory is. A directory with a long name is reached through a handle of it. */
export async function socketPlace(directory: string): Promise<SocketPlace> {
  const path = join(directory, NAME)
  if (Buffer.byteLength(path) <= PATH_MAX) return { path, close: async () => undefined }
  const handle: FileHandle = await open(directory, 'r')
  return { path: `/proc/self/fd/${handle.fd}/${NAME}`, close: () => handle.close() }
}
