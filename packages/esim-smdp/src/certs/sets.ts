import type { RspIdentity, TlsWishes } from '../parts.ts'
import { authorityOf } from './authority.ts'
import type { HeldCertificate } from './held.ts'

/** A set that a session can sign with, and the certificates that it is made of. */
export interface CertificateSet {
  readonly identity: RspIdentity
  readonly ids: readonly string[]
}

/** Whether it is valid at that moment. */
export function isValidAt({ row, isRevoked }: HeldCertificate, nowMs: number): boolean {
  return isRevoked !== true && row.not_before_ms <= nowMs && nowMs <= row.not_after_ms
}

/**
 * One complete and valid set for each CI, the newest first. Of several owners under one CI it is the one that was added
 * last, then the one that is valid longest, then the lowest.
 */
export function completeSets(held: readonly HeldCertificate[], nowMs: number): readonly CertificateSet[] {
  const valid = held.filter((one) => isValidAt(one, nowMs)).toSorted(newestFirst)
  const seen = new Set<string>()
  return valid
    .filter(({ row }) => row.role === 'dpauth')
    .flatMap((auth) => {
      const of = (role: 'ci' | 'dppb'): HeldCertificate | undefined =>
        valid.find(
          ({ row }) =>
            row.role === role &&
            row.ci_pkid === auth.row.ci_pkid &&
            (role === 'ci' || row.owner === auth.row.owner),
        )
      const [ci, pb] = [of('ci'), of('dppb')]
      const set = ci && pb && setOf(ci, auth, pb)
      if (set === undefined || seen.has(auth.row.ci_pkid)) return []
      seen.add(auth.row.ci_pkid)
      return [set]
    })
}

/** The set that has that id, valid or not: a session ends with what it began with. */
export function setOfId(held: readonly HeldCertificate[], id: string): CertificateSet | undefined {
  const [auth, pb] = id.split(' ').map((one) => held.find(({ row }) => row.id === one))
  const ci = held.find(({ row }) => row.role === 'ci' && row.ci_pkid === auth?.row.ci_pkid)
  return ci && auth && pb && setOf(ci, auth, pb)
}

/** Every set that can be made of what was not taken back, valid or not. */
export function allSets(held: readonly HeldCertificate[]): readonly CertificateSet[] {
  const kept = held.filter(({ isRevoked }) => isRevoked !== true)
  const of = (role: string): readonly HeldCertificate[] => kept.filter(({ row }) => row.role === role)
  return of('dpauth').flatMap((auth) =>
    of('dppb')
      .filter(({ row }) => row.ci_pkid === auth.row.ci_pkid && row.owner === auth.row.owner)
      .flatMap((pb) => setOfId(kept, `${auth.row.id} ${pb.row.id}`) ?? []),
  )
}

/** When the answer of `completeSets` may become another one; infinite when it stays. */
export function nextChangeMs(held: readonly HeldCertificate[], nowMs: number): number {
  const moments = held.flatMap(({ row }) => [row.not_before_ms, row.not_after_ms + 1])
  return Math.min(Number.POSITIVE_INFINITY, ...moments.filter((ms) => ms > nowMs))
}

/** IANA numbers of the groups that say that a client takes a certificate of that curve. RFC 8422 §5.1.1, RFC 7027, RFC 8734. */
const GROUPS: Readonly<Record<HeldCertificate['row']['curve'], readonly number[]>> = {
  'P-256': [23],
  brainpoolP256r1: [26, 31],
}

/**
 * The certificate to serve a client with: for the name that it asks for, else any (what to think of that is the client's to
 * decide); of a CI that it believes, when it says which; of a curve that it takes, P-256 first. The newest of those.
 */
export function tlsCertificate(
  held: readonly HeldCertificate[],
  wishes: TlsWishes,
  nowMs: number,
): HeldCertificate | undefined {
  const rank = (one: HeldCertificate): number => {
    const { host, groups, trustedKeys } = wishes
    const isNamed = host !== undefined && isFor(one, host)
    const isTrusted = trustedKeys.includes(one.row.ci_pkid)
    const isTaken = groups.length === 0 || GROUPS[one.row.curve].some((group) => groups.includes(group))
    const isUsual = one.row.curve === 'P-256'
    return (isNamed ? 8 : 0) + (isTrusted ? 4 : 0) + (isTaken ? 2 : 0) + (isUsual ? 1 : 0)
  }
  return held
    .filter((one) => one.row.role === 'dptls' && one.key !== undefined && isValidAt(one, nowMs))
    .toSorted((a, b) => rank(b) - rank(a) || newestFirst(a, b))[0]
}

/** One who takes anything: of no name, or of this one. */
export function anyClient(host?: string): TlsWishes {
  return { host: host?.toLowerCase(), groups: [], trustedKeys: [] }
}

/** Ids of the certificates that sessions and listeners use. */
export function idsInUse(held: readonly HeldCertificate[], nowMs: number): ReadonlySet<string> {
  const hosts = held.flatMap(({ certificate }) => [...certificate.dnsNames, undefined])
  // A client that takes one curve alone is served with that one.
  const serving = hosts.flatMap((host) =>
    Object.values(GROUPS).flatMap(
      (groups) => tlsCertificate(held, { ...anyClient(host), groups }, nowMs)?.row.id ?? [],
    ),
  )
  return new Set([...completeSets(held, nowMs).flatMap(({ ids }) => ids), ...serving])
}

/** RFC 6125 §6.4: the name itself, or a `*` in place of its first label. */
function isFor({ certificate }: HeldCertificate, host: string): boolean {
  return certificate.dnsNames.some((name) => {
    const wanted = name.toLowerCase()
    return wanted === host || (wanted.startsWith('*.') && wanted.slice(1) === host.slice(host.indexOf('.')))
  })
}

/** Added last, valid longest, then by owner. */
export function newestFirst({ row: a }: HeldCertificate, { row: b }: HeldCertificate): number {
  return (
    b.added_at_ms - a.added_at_ms ||
    b.not_after_ms - a.not_after_ms ||
    a.owner.localeCompare(b.owner) ||
    a.id.localeCompare(b.id)
  )
}

function setOf(ci: HeldCertificate, auth: HeldCertificate, pb: HeldCertificate): CertificateSet | undefined {
  const owner = auth.certificate.registeredId
  if (auth.key === undefined || pb.key === undefined || owner === undefined) return undefined
  return {
    ids: [ci.row.id, auth.row.id, pb.row.id],
    identity: {
      id: `${auth.row.id} ${pb.row.id}`,
      ciPkid: auth.row.ci_pkid,
      authority: authorityOf(auth.row.ci_pkid, ci.key !== undefined),
      curve: auth.row.curve,
      ci: ci.row.der,
      auth: { der: auth.row.der, key: auth.key },
      pb: { der: pb.row.der, key: pb.key },
      owner: owner.text,
      ownerOctets: owner.octets,
    },
  }
}
