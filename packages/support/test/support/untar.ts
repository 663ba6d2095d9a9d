import { unpackTar } from 'modern-tar'

/** The texts of an archive of regular files, by name. */
export async function filesIn(archive: Uint8Array): Promise<ReadonlyMap<string, string>> {
  const entries = await unpackTar(archive, { strict: true })
  return new Map(entries.map(({ header, data }) => [header.name, Buffer.from(data ?? []).toString()]))
}
