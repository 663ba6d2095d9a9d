import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { createTarPacker } from 'modern-tar'

/** No file of a bundle is larger; what is loses its end. */
const LARGEST_FILE = 4 * 1_048_576

/** One file of a bundle. `make` may fail: then the bundle says so in its place. */
export interface BundleFile {
  readonly name: string
  make(): Promise<string>
}

/** How long one file may take: a store that hangs must not keep the rest from whoever helps. */
const PATIENCE_MS = 10_000

/**
 * A gzipped archive (POSIX.1-1988 ustar) of texts with short names, one made after the other. The last one is
 * `manifest.json`, which says what could not be made, and why in the words of `reasonOf`.
 */
export function bundleOf(
  files: readonly BundleFile[],
  about: Readonly<Record<string, unknown>>,
  { nowMs, reasonOf }: { readonly nowMs: number; readonly reasonOf: (error: unknown) => string },
): AsyncIterable<Buffer> {
  const { readable, controller } = createTarPacker()
  const add = async (name: string, text: string): Promise<void> => {
    const content = Buffer.from(text).subarray(0, LARGEST_FILE)
    const header = { name: `svc-support/${name}`, size: content.length, mode: 0o600, mtime: new Date(nowMs) }
    const body = controller.add(header).getWriter()
    await body.write(new Uint8Array(content))
    await body.close()
  }
  const fill = async (): Promise<void> => {
    const failed: Record<string, string> = {}
    for (const { name, make } of files) {
      const text = await inTime(make).catch((error: unknown) => {
        failed[name] = textOf(() => reasonOf(error))
      })
      if (text !== undefined) await add(name, text)
    }
    const names = files.map(({ name }) => name).filter((name) => failed[name] === undefined)
    await add('manifest.json', jsonOf({ ...about, files: names, failed }))
    controller.finalize()
  }
  fill().catch((error: unknown) => controller.error(error))
  const gzip = createGzip()
  // A reader who leaves ends the making of it; what went wrong is told by the stream itself.
  pipeline(Readable.fromWeb(readable), gzip, () => undefined)
  return gzip
}

/** What a plugin throws may be nothing that has a text. */
function textOf(reason: () => string): string {
  try {
    return reason()
  } catch {
    return 'it says nothing of why'
  }
}

/** As it is read by people and programs. */
export function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}

async function inTime(make: () => Promise<string>): Promise<string> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('it took too long')), PATIENCE_MS)
  try {
    return await Promise.race([make(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
