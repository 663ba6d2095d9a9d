import type { Context, Vault } from '@steeple/contracts'
import type { CertStore, TlsMaterial, TlsWishes } from '../parts.ts'
import { CERTS, REVOKED } from '../store/rows.ts'
import { type HeldCertificate, openCertificate, pemOf, revocationIdOf } from './held.ts'
import {
  allSets,
  type CertificateSet,
  completeSets,
  idsInUse,
  newestFirst,
  nextChangeMs,
  setOfId,
  tlsCertificate,
} from './sets.ts'

/** The certificates of the store, opened, for this plugin's own use. */
export interface HeldCertificates extends CertStore {
  /** All of them, the newest first. */
  all(): readonly HeldCertificate[]
  /** Ids of the certificates that sessions and listeners use now. */
  inUse(): ReadonlySet<string>
  /** What is revoked: `revocationId`. */
  revoked(): ReadonlySet<string>
  /** Rows that could not be opened. */
  unreadable(): number
}

/** More than a service has in its life; what is beyond is not seen. */
const MOST = 1_000
/** More than all lists together may name. */
const MOST_REVOKED = 100_000

const REVOKED_IDS = `select id from ${REVOKED.name} order by id limit :most`

/** The certificates of the table, in memory. Throws `store_unavailable` when they cannot be read the first time. */
export async function certStore(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  vault: Vault,
): Promise<HeldCertificates> {
  let held: readonly HeldCertificate[] = []
  let material: ReadonlyMap<string, TlsMaterial> = new Map()
  let revoked: ReadonlySet<string> = new Set()
  let unreadable = 0
  let known: { readonly sets: readonly CertificateSet[]; readonly fromMs: number; readonly untilMs: number } =
    {
      sets: [],
      fromMs: 0,
      untilMs: 0,
    }
  const sets = (): readonly CertificateSet[] => {
    const nowMs = clock.nowMs()
    // The same objects until something changes: each session asks.
    if (nowMs < known.fromMs || nowMs >= known.untilMs)
      known = { sets: completeSets(held, nowMs), fromMs: nowMs, untilMs: nextChangeMs(held, nowMs) }
    return known.sets
  }
  const tls = (wishes: TlsWishes): TlsMaterial | undefined => {
    const best = tlsCertificate(held, wishes, clock.nowMs())
    return best && material.get(best.row.id)
  }
  const reload = async (): Promise<void> => {
    const { rows } = await CERTS.sound(db, 'order by id limit :most', { most: MOST })
    // One that fails its sum is revoked all the same: nothing else was ever in this table.
    const ids = await db.all<{ readonly id: string }>(REVOKED_IDS, { most: MOST_REVOKED })
    revoked = new Set(ids.map(({ id }) => id))
    const opened = rows.flatMap((row) => {
      try {
        const one = openCertificate(row, vault)
        return [{ ...one, isRevoked: revoked.has(revocationIdOf(one.certificate)) }]
      } catch (error) {
        log.error({ id: row.id, role: row.role, err: String(error) }, 'certificate cannot be opened')
        return []
      }
    })
    const before = material
    held = opened.toSorted(newestFirst)
    material = new Map(
      held.flatMap((one) => {
        const made = before.get(one.row.id) ?? materialOf(one)
        return made === undefined ? [] : [[one.row.id, made]]
      }),
    )
    unreadable = rows.length - opened.length
    known = { sets: [], fromMs: 0, untilMs: 0 }
  }
  await reload()
  return {
    identities: () => sets().map(({ identity }) => identity),
    identity: (id) => (sets().find(({ identity }) => identity.id === id) ?? setOfId(held, id))?.identity,
    identitiesHeld: () => allSets(held).map(({ identity }) => identity),
    tls,
    reload,
    all: () => held,
    isRevoked: (certificate) => revoked.has(revocationIdOf(certificate)),
    revoked: () => revoked,
    unreadable: () => unreadable,
    inUse: () => idsInUse(held, clock.nowMs()),
  }
}

/** The CI is the phone's own: it is not sent. */
function materialOf({ row, key }: HeldCertificate): TlsMaterial | undefined {
  if (row.role !== 'dptls' || key === undefined) return undefined
  return {
    id: row.id,
    curve: row.curve,
    cert: pemOf(row.der),
    key: String(key.export({ format: 'pem', type: 'pkcs8' })),
  }
}
