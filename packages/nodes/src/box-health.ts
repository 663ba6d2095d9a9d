import { X509Certificate } from 'node:crypto'
import { lstat, readdir, readFile, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CertificateEnds,
  type ComponentHealth,
  type Context,
  countText,
  nodeCredentialsRef,
  nodeIdentityRef,
  timestampFromMs,
} from '@steeple/contracts'

const DAY_MS = 86_400_000
/** Shares of the file system of the data directory that are free. */
const FULL = 0.03
const LOW = 0.1
/** Of one folder; the rest of it is not looked at. */
const MOST_FILES = 500
/** A certificate that ends so soon. */
const ENDING_MS = 14 * DAY_MS
const ENDED_MS = DAY_MS
/** Certificates do not change from look to look. */
const CERTIFICATES_MS = 60_000
/** No phone for so long, where there were some. */
const QUIET_MS = 30 * 60_000
/** As long as anybody expects them back. */
const FORGOTTEN_MS = DAY_MS
/** Phones that leave one after the other count together. */
const TOGETHER_MS = 60 * 60_000
/** One phone that leaves is no outage. */
const LEAST_PHONES = 3

/** The room on the disk of `path`. */
export async function diskHealth(path: string): Promise<ComponentHealth> {
  const common = { name: 'disk', kind: 'feature' } as const
  const room = await statfs(path).catch((error: NodeJS.ErrnoException) => error.code ?? 'unknown')
  if (typeof room === 'string')
    return {
      ...common,
      incident: 'part',
      status: 'degraded',
      detail: `the disk of ${path} cannot be looked at (${room})`,
    }
  const { bavail, blocks, bsize } = room
  const share = blocks === 0 ? 1 : bavail / blocks
  const detail = `${Math.round(share * 1_000) / 10} % (${Math.floor((bavail * bsize) / 1e6)} MB) of the disk of ${path} is free`
  if (share >= LOW) return { ...common, status: 'ok', detail, incident: 'disk_low' }
  const isFull = share < FULL
  return {
    ...common,
    status: isFull ? 'down' : 'degraded',
    detail: `${detail}${await largestIn(path)}`,
    incident: isFull ? 'disk_full' : 'disk_low',
  }
}

/** What takes most of the space in a folder, for whoever has to free some: `; most there: backups 1200 MB, svc.db 300 MB`. */
async function largestIn(path: string): Promise<string> {
  const names = await readdir(path).catch(() => [])
  const sized = await Promise.all(names.map(async (name) => [name, await sizeOf(join(path, name))] as const))
  const largest = sized
    .filter(([, size]) => size >= 1e6)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 3)
    .map(([name, size]) => `${name} ${Math.round(size / 1e6)} MB`)
  return largest.length === 0 ? '' : `; most there: ${largest.join(', ')}`
}

/** Octets of a file, or of the files in a folder and in those in it; nothing of what cannot be read. */
async function sizeOf(path: string, depth = 2): Promise<number> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isFile() === true) return found.size
  if (found?.isDirectory() !== true || depth === 0) return 0
  const names = (await readdir(path).catch(() => [])).slice(0, MOST_FILES)
  const sizes = await Promise.all(names.map((name) => sizeOf(join(path, name), depth - 1)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Certificates that end: this node's own, and the one that its listener presents. */
export function certificateEnds(context: Context): CertificateEnds {
  let read = { untilMs: Number.NEGATIVE_INFINITY, ends: new Map<string, number>() }
  return {
    ends: async () => {
      const monotonicMs = context.clock.monotonicMs()
      if (monotonicMs >= read.untilMs)
        read = { untilMs: monotonicMs + CERTIFICATES_MS, ends: await endsOfFiles(context) }
      return read.ends
    },
  }
}

async function endsOfFiles(context: Context): Promise<Map<string, number>> {
  const ends = new Map<string, number>()
  const own = context.maybe(nodeCredentialsRef)?.tls().cert
  ends.set(
    'node',
    (own === undefined ? undefined : endOf(own)) ?? context.use(nodeIdentityRef).certificateExpiresAtMs,
  )
  const { enabled, cert_file: file } = context.settings.tls
  if (!enabled || file === '') return ends
  // One that cannot be read is the listener's to complain of.
  const end = endOf(await readFile(file, 'utf8').catch(() => ''))
  if (end !== undefined) ends.set('tls.cert_file', end)
  return ends
}

/** When the first certificate of a PEM text ends, ms since the epoch. */
function endOf(pem: string): number | undefined {
  try {
    return new X509Certificate(pem).validToDate.getTime()
  } catch {
    return undefined
  }
}

/** A component for each certificate. */
export function certificateHealth(
  ends: ReadonlyMap<string, number>,
  nowMs: number,
): readonly ComponentHealth[] {
  return [...ends].map(([name, endMs]) => {
    const leftMs = endMs - nowMs
    const status = leftMs < ENDED_MS ? 'down' : leftMs < ENDING_MS ? 'degraded' : 'ok'
    const verb = leftMs < 0 ? 'ended' : 'ends'
    const detail = `the certificate ${name} ${verb} at ${timestampFromMs(endMs)}`
    return { name: `certificate.${name}`, kind: 'feature', status, detail, incident: 'certificate_ending' }
  })
}

/** Whether phones that were on stay away. Knows nothing of the time before its first look. */
export function quietWatch(): (attached: number | undefined, nowMs: number) => ComponentHealth {
  let last: { readonly count: number; readonly atMs: number } | undefined
  return (attached, nowMs) => {
    const common = { name: 'phones', kind: 'feature', incident: 'nobody_attached' } as const
    if (attached !== undefined && attached > 0) {
      const isSameTime = last !== undefined && nowMs - last.atMs < TOGETHER_MS
      last = { count: Math.max(attached, isSameTime ? (last?.count ?? 0) : 0), atMs: nowMs }
    }
    const quietMs = last === undefined ? 0 : nowMs - last.atMs
    if (
      attached !== 0 ||
      last === undefined ||
      last.count < LEAST_PHONES ||
      quietMs < QUIET_MS ||
      quietMs > FORGOTTEN_MS
    )
      return { ...common, status: 'ok', detail: `${countText(attached ?? 'unknown', 'phone')} attached` }
    const detail = `no phone is attached; there were up to ${last.count} until ${timestampFromMs(last.atMs)}`
    return { ...common, status: 'degraded', detail }
  }
}
