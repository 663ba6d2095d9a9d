import { X509Certificate } from 'node:crypto'
import { readFile, statfs } from 'node:fs/promises'
import {
  type CertificateEnds,
  type ComponentHealth,
  type Context,
  countText,
  meshIdentityRef,
  nodeIdentityRef,
  timestampFromMs,
} from '@steeple/contracts'

const DAY_MS = 86_400_000
/** Shares of the file system of the data directory that are free. */
const FULL = 0.03
const LOW = 0.1
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
  if (share < FULL) return { ...common, status: 'down', detail, incident: 'disk_full' }
  return { ...common, status: share < LOW ? 'degraded' : 'ok', detail, incident: 'disk_low' }
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
  const own = context.maybe(meshIdentityRef)?.tls().cert
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
