import { systemPrincipal } from '@steeple/contracts'
import type { HeldCertificate } from './held.ts'
import { newTls, ownCiOf } from './hierarchy.ts'
import { type CertParts, keepCertificates } from './keep.ts'

/** What has less left than this is renewed: a month of days on which somebody could still see that it failed. */
const BEFORE_MS = 30 * 86_400_000

/** Whether this service can issue its successor: it has the key of the CI. */
export function isRenewable(one: HeldCertificate, held: readonly HeldCertificate[]): boolean {
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
