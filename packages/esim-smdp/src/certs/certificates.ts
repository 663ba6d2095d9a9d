import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ComponentHealth, countText, type Route, systemPrincipal } from '@steeple/contracts'
import type { RspIdentity } from '../parts.ts'
import { DROPPED } from '../store/rows.ts'
import { PUBLISHED_WORDS } from './authority.ts'
import { type CertFile, MAX_OCTETS, readFiles } from './files.ts'
import type { HeldCertificate } from './held.ts'
import { newTls, ownCiOf } from './hierarchy.ts'
import { type CertParts, isMadeForLab, keepCertificates, keepRevocations } from './keep.ts'
import { planImport } from './plan-import.ts'
import { certRoutes } from './routes.ts'

/** What has less left than this is renewed: a month of days on which somebody could still see that it failed. */
const BEFORE_MS = 30 * 86_400_000

/** Whether this service can issue its successor: it has the key of the CI. */
function isRenewable(one: HeldCertificate, held: readonly HeldCertificate[]): boolean {
  return one.row.role === 'dptls' && ownCiOf(one, held) !== undefined
}

/**
 * Issues successors of the own CERT.DPtls that end within a month, for the same hosts, with new keys. The listener takes them
 * for new connections. Nothing is issued by a clock that is not believed.
 */
export async function renewTls(parts: CertParts): Promise<void> {
  const { context, certs } = parts
  if (context.clock.doubt?.() !== undefined) return
  const nowMs = context.clock.nowMs()
  const held = certs.all()
  const due = held.filter(
    (one) =>
      isRenewable(one, held) &&
      one.row.not_after_ms - nowMs < BEFORE_MS &&
      !held.some((other) => isSuccessor(other, one)),
  )
  for (const one of due) await renew(parts, one, nowMs)
  if (due.length > 0) await certs.reload()
}

async function renew(parts: CertParts, one: HeldCertificate, nowMs: number): Promise<void> {
  const ci = ownCiOf(one, parts.certs.all())
  const [first, ...others] = hostsOf(one)
  if (ci === undefined || first === undefined || ci.certificate.notAfterMs - nowMs < BEFORE_MS) return
  const next = newTls(ci, [first, ...others], nowMs)
  await parts.context.mutate(systemPrincipal('esim-smdp'), 'esim_cert.renew', one.row.id, async (tx) => {
    await keepCertificates(tx, parts, [next])
  })
  parts.context.log.info({ certificate: one.row.id, host: first }, 'CERT.DPtls renewed')
}

function isSuccessor(other: HeldCertificate, one: HeldCertificate): boolean {
  return (
    other.row.role === 'dptls' &&
    other.row.ci_pkid === one.row.ci_pkid &&
    other.row.not_after_ms > one.row.not_after_ms &&
    hostsOf(other).join() === hostsOf(one).join()
  )
}

function hostsOf({ certificate }: HeldCertificate): readonly string[] {
  return [...certificate.dnsNames, ...certificate.addresses]
}

const DAY_MS = 86_400_000
/** Time to get new ones: those of GSMA take weeks. */
const WARN_MS = 30 * DAY_MS

/** Gives the metric what is left of the certificates in use: the least of each role and curve. */
export function countCertificates({ context, certs }: CertParts): () => void {
  const gauge = context.metrics.gauge(
    'svc_esim_smdp_certificate_expires_seconds',
    'Seconds until the first certificate in use of a role and curve ends.',
    ['role', 'curve'],
  )
  let told: readonly { readonly role: string; readonly curve: string }[] = []
  return () => {
    const nowMs = context.clock.nowMs()
    const least = new Map<string, { labels: { role: string; curve: string }; seconds: number }>()
    for (const { row } of watched(certs.all(), certs.inUse())) {
      const labels = { role: row.role, curve: row.curve }
      const seconds = Math.floor((row.not_after_ms - nowMs) / 1_000)
      const key = `${row.role} ${row.curve}`
      if (seconds < (least.get(key)?.seconds ?? Number.POSITIVE_INFINITY)) least.set(key, { labels, seconds })
    }
    // A gauge that is no more would go on saying what it last said.
    for (const labels of told) if (!least.has(`${labels.role} ${labels.curve}`)) gauge.set(Number.NaN, labels)
    for (const { labels, seconds } of least.values()) gauge.set(seconds, labels)
    told = [...least.values()].map(({ labels }) => labels)
  }
}

/** What the certificates are like: missing, ending, refused. Says nothing is wrong while eSIM is off. */
export function certificateHealth(
  parts: CertParts,
  refused: () => number | undefined,
): () => ComponentHealth {
  const { context, certs } = parts
  return () => {
    const problem = context.config.enabled && !isMadeForLab(parts) ? problemOf() : undefined
    const all = certs.identities()
    const sets = all.length
    const words = countText(sets, 'set')
    return {
      name: 'certificates',
      kind: 'feature',
      status: problem === undefined ? 'ok' : 'degraded',
      detail: problem ?? (all.some(isTest) ? `${words}, for tests alone: ${PUBLISHED_WORDS}` : words),
    }
  }
  function problemOf(): string | undefined {
    if (certs.unreadable() > 0)
      return `${countText(certs.unreadable(), 'certificate')} in the store cannot be opened; is the vault key the one that sealed them?`
    if (certs.identities().length === 0)
      return 'no complete and valid set of CERT.CI, CERT.DPauth and CERT.DPpb; svc esim certs init makes one for a lab, svc esim certs import takes yours'
    if (certs.identities().some(isTest) && !certs.identities().every(isTest))
      return `a test CI of SGP.26 is beside another one: ${PUBLISHED_WORDS}; remove what belongs to one of them (svc esim certs list, svc esim certs remove ID)`
    const files = refused()
    if (files === undefined) return 'esim.certs_dir cannot be read; see the log'
    if (files > 0)
      return `${countText(files, 'file')} of esim.certs_dir ${files === 1 ? 'is' : 'are'} refused; the log says why`
    return endingSoon(context.clock.nowMs())
  }
  function endingSoon(nowMs: number): string | undefined {
    const held = certs.all()
    const [first] = watched(held, certs.inUse())
      .filter((one) => one.row.not_after_ms - nowMs < WARN_MS / (isRenewable(one, held) ? 2 : 1))
      .toSorted((a, b) => a.row.not_after_ms - b.row.not_after_ms)
    if (first === undefined) return undefined
    const { role, curve, not_after_ms: endsMs } = first.row
    const when = new Date(endsMs).toISOString().slice(0, 10)
    return endsMs < nowMs
      ? `${role} (${curve}) was valid until ${when}; import a new one`
      : `${role} (${curve}) is valid until ${when}; import a new one before that day`
  }
}

function isTest({ authority }: RspIdentity): boolean {
  return authority === 'test'
}

/** Those in use, and those that were until they ended: nothing has taken their place. */
function watched(held: readonly HeldCertificate[], inUse: ReadonlySet<string>): readonly HeldCertificate[] {
  const used = held.filter(({ row }) => inUse.has(row.id))
  const ended = held.filter(
    ({ row, key }) =>
      !inUse.has(row.id) &&
      key !== undefined &&
      row.role !== 'ci' &&
      !used.some((one) => one.row.role === row.role && one.row.curve === row.curve),
  )
  return [...used, ...ended]
}

/** Endings of files that are looked at; whatever else lies there is left alone. */
const ENDING = /\.(pem|der|crt|cer|crl|key)$/i
const MOST_FILES = 500

/**
 * Imports what lies in `esim.certs_dir`, and says in the log which files are refused. Gives the number of those; undefined
 * when the folder cannot be read. The good ones come in whatever the others are, but
 * for those that somebody has removed by hand.
 */
async function importFolder(parts: CertParts): Promise<number | undefined> {
  const { context, certs } = parts
  const folder = context.config.certs_dir
  if (folder === '') return 0
  const files = await filesIn(folder).catch((error: unknown) => {
    context.log.warn({ folder, err: String(error) }, 'esim.certs_dir cannot be read')
    return undefined
  })
  if (files === undefined) return undefined
  const dropped = new Set((await DROPPED.select(context.db, '')).map(({ id }) => id))
  const plan = planImport(readFiles(files), certs.all(), {
    nowMs: context.clock.nowMs(),
    left: dropped,
    revoked: certs.revoked(),
  })
  for (const { file, problem } of plan.problems)
    context.log.warn({ file, problem }, 'file of esim.certs_dir refused')
  if (plan.added.length + plan.revoked.length > 0) {
    await context.mutate(systemPrincipal('esim-smdp'), 'esim_cert.import', folder, async (tx) => {
      await keepCertificates(tx, parts, plan.added)
      await keepRevocations(tx, parts, plan.revoked, 'list')
    })
    await certs.reload()
  }
  return plan.problems.length
}

async function filesIn(folder: string): Promise<readonly CertFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile() && ENDING.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .slice(0, MOST_FILES)
  return await Promise.all(paths.map(async (name) => ({ name, octets: await octetsOf(name) })))
}

/** At most one more than is read: a file of another kind may have any size. */
async function octetsOf(path: string): Promise<Uint8Array> {
  const { size } = await stat(path)
  return size > MAX_OCTETS ? new Uint8Array(MAX_OCTETS + 1) : await readFile(path)
}

const HOUR_MS = 3_600_000
const COUNT_MS = 30_000

/** What the certificates contribute to the plugin. */
export interface Certificates {
  readonly routes: readonly Route[]
  /** Imports the folder, and begins to renew, count and follow other instances. */
  start(): Promise<void>
  health(): ComponentHealth
}

/** Routes, renewal, health and metrics of certificates. */
export function certificates(parts: CertParts): Certificates {
  const { context, certs } = parts
  let refused: number | undefined = 0
  const count = countCertificates(parts)
  // Without the folder everything else works as before: its failure is told, and no start fails for it.
  const lookIntoFolder = async (): Promise<void> => {
    refused = await importFolder(parts).catch((error: unknown) => {
      context.log.error({ err: String(error) }, 'import of esim.certs_dir failed')
      return undefined
    })
  }
  return {
    routes: certRoutes(parts),
    health: certificateHealth(parts, () => refused),
    start: async () => {
      await lookIntoFolder()
      // SIGHUP says that something may have changed; in the folder, as far as this knows.
      context.onSettings(() => void lookIntoFolder())
      context.on(
        'esim_cert.*',
        async () => {
          await certs.reload()
          count()
        },
        'each',
      )
      context.every(HOUR_MS, () => renewTls(parts))
      context.every(COUNT_MS, async () => count(), 'each')
      await renewTls(parts)
      count()
    },
  }
}
