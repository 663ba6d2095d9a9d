import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

const BLOCK = 512
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
  const blocks = async function* (): AsyncGenerator<Buffer> {
    const failed: Record<string, string> = {}
    for (const { name, make } of files) {
      try {
        yield* fileBlocks(name, await inTime(make), nowMs)
      } catch (error) {
        failed[name] = textOf(() => reasonOf(error))
      }
    }
    const names = files.map(({ name }) => name).filter((name) => failed[name] === undefined)
    yield* fileBlocks('manifest.json', jsonOf({ ...about, files: names, failed }), nowMs)
    yield Buffer.alloc(2 * BLOCK)
  }
  const gzip = createGzip()
  // A reader who leaves ends the making of it; what went wrong is told by the stream itself.
  pipeline(Readable.from(blocks(), { objectMode: false }), gzip, () => undefined)
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

function* fileBlocks(name: string, text: string, nowMs: number): Generator<Buffer> {
  const content = Buffer.from(text).subarray(0, LARGEST_FILE)
  yield header(`svc-support/${name}`, content.length, Math.floor(nowMs / 1_000))
  yield content
  yield Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)
}

function header(name: string, size: number, mtimeS: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, '0'), at, 'latin1')
  block.write(name, 0, 'latin1')
  octal(0o600, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size, 124, 11)
  octal(mtimeS, 136, 11)
  block.write('0', 156, 'latin1')
  block.write('ustar\u000000', 257, 'latin1')
  // The sum is taken with spaces in its own place.
  block.fill(' ', 148, 156)
  const sum = block.reduce((all, octet) => all + octet, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1')
  return block
}
