import type { ComponentHealth } from '@steeple/contracts'
import type { RspIdentity } from '../parts.ts'
import { PUBLISHED_WORDS } from './authority.ts'
import type { HeldCertificate } from './held.ts'
import type { CertParts } from './keep.ts'
import { isMadeForLab } from './lab.ts'
import { isRenewable } from './renew.ts'

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
    const words = `${sets} ${sets === 1 ? 'set' : 'sets'}`
    return {
      name: 'certificates',
      kind: 'feature',
      status: problem === undefined ? 'ok' : 'degraded',
      detail: problem ?? (all.some(isTest) ? `${words}, for tests alone: ${PUBLISHED_WORDS}` : words),
    }
  }
  function problemOf(): string | undefined {
    if (certs.unreadable() > 0)
      return `${certs.unreadable()} certificates in the store cannot be opened; is the vault key the one they were sealed with?`
    if (certs.identities().length === 0)
      return 'no complete and valid set of CERT.CI, CERT.DPauth and CERT.DPpb; svc esim certs init makes one for a lab, svc esim certs import takes yours'
    if (certs.identities().some(isTest) && !certs.identities().every(isTest))
      return `a test CI of SGP.26 is beside another one: ${PUBLISHED_WORDS}; remove what belongs to one of them (svc esim certs list, svc esim certs remove ID)`
    const files = refused()
    if (files === undefined) return 'esim.certs_dir cannot be read; see the log'
    if (files > 0) return `${files} files of esim.certs_dir are refused; the log says why`
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
