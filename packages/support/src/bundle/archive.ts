import { arch, cpus, freemem, loadavg, type as osType, release, totalmem, uptime } from 'node:os'
import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { AuditTrail } from '@steeple/contracts'
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

/** A file of what `make` gives, as people and programs read it. */
export function jsonFile(name: string, make: () => unknown): BundleFile {
  return { name, make: async () => jsonOf(await make()) }
}

function jsonOf(value: unknown): string {
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

/** The newest entry of the audit trail: its place, time and hash, and nothing of what it says. */
export async function auditHead(audit: Pick<AuditTrail, 'list'>): Promise<object> {
  const [newest] = await audit.list({}, 1, undefined)
  if (newest === undefined) return { head: null }
  const { seq, atMs, hash, prevHash } = newest
  return { head: { seq, at: new Date(atMs).toISOString(), hash, prev_hash: prevHash } }
}

/** The machine and the process, without their names. */
export function machineFacts(): Readonly<Record<string, unknown>> {
  return {
    system: osType(),
    release: release(),
    architecture: arch(),
    processors: cpus().length,
    memory_bytes: totalmem(),
    memory_free_bytes: freemem(),
    load: loadavg(),
    machine_uptime_s: Math.floor(uptime()),
    node: process.versions.node,
    sqlite: process.versions.sqlite,
    openssl: process.versions.openssl,
    process_uptime_s: Math.floor(process.uptime()),
    resident_bytes: process.memoryUsage.rss(),
  }
}
