import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs'

/** The service waits for nobody here: to open a pipe that nobody writes would hold all of it. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK

/** The capture of `collector.upf.file`, open for reading. Throws an Error that says what is wrong with it and what to do. */
export function openCapture(path: string): number {
  const file = opened(path)
  const stat = fstatSync(file)
  if (stat.isFile()) return file
  closeSync(file)
  throw new Error(
    `collector.upf.file is no file but a ${kindOf(stat)}: name a capture that lies on a disk (.pcap, .pcapng)`,
  )
}

function opened(path: string): number {
  try {
    return openSync(path, FLAGS)
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown } // a text or nothing
    throw new Error(
      `collector.upf.file cannot be read (${String(code)}): name a capture that this service may read`,
      { cause: error },
    )
  }
}

function kindOf(stat: Stats): string {
  if (stat.isFIFO()) return 'pipe'
  return stat.isDirectory() ? 'directory' : 'device'
}
