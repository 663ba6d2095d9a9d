const BLOCK = 512

/** The texts of an archive of regular files, by name. */
export function filesIn(archive: Buffer): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (let at = 0; archive[at] !== 0 && at < archive.length; ) {
    const field = (from: number, length: number): string =>
      (archive.toString('latin1', at + from, at + from + length).split('\0')[0] ?? '').trim()
    const size = Number.parseInt(field(124, 12), 8)
    files.set(field(0, 100), archive.toString('utf8', at + BLOCK, at + BLOCK + size))
    at += BLOCK * (1 + Math.ceil(size / BLOCK))
  }
  return files
}
