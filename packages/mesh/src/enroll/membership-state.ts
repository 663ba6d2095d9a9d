import { hash, X509Certificate } from 'node:crypto'
import { type Db, type Membership, type NodeCredentials, serialOf, systemPrincipal } from '@steeple/contracts'
import type { RootClient } from '../agent/box-calls.ts'
import { fieldOf } from '../agent/mesh-client.ts'
import { type Changes, createChanges } from './changes.ts'
import type { MemberRecord, MeshView } from './member-record.ts'
import type { EnrollParts } from './parts.ts'
import type { SignedList } from './revocation-list.ts'
import { putNote, readNote } from './store.ts'

/** Why this node is not in a mesh any more that it was in. */
interface Expulsion {
  readonly mesh: string
  readonly atMs: number
}

/**
 * What this node has heard as a member of another one's mesh: members and revoked certificates. Reads are from memory; it
 * goes on with what it has when the root is away.
 */
export interface MembershipState {
  view(): MeshView | undefined
  /** The newest signed list that it has heard of, from whomever. */
  list(): SignedList | undefined
  isRevoked(serial: string): boolean
  /** Where the root says that it answers, in the newest list. */
  rootUrl(): string | undefined
  /** SHA-256 of the mesh CA's DER, hexadecimal; undefined while the node is no member. */
  caSha256(): string | undefined
  expelled(): Expulsion | undefined
  readonly changes: Changes
  /** Keeps what the root says of the members. */
  takeView(view: MeshView): Promise<void>
  /**
   * Keeps a list when its signature holds and its number is higher than the one before; false when it is not newer. From
   * whomever: the signature decides. Throws `validation_failed`.
   */
  takeList(pem: string): Promise<boolean>
  /** Forgets everything: the node has left, or begins in another mesh. */
  clear(expelled?: Expulsion): Promise<void>
}

/** Opens what was learnt before. A list that does not fit the membership any more is left out. */
export async function openMembershipState(db: Db, identity: NodeCredentials): Promise<MembershipState> {
  const changes = createChanges()
  let view: MeshView | undefined
  let list: (SignedList & { readonly rootUrl: string | undefined }) | undefined
  let revoked: ReadonlySet<string> = new Set()
  let expelled: Expulsion | undefined
  /** Another one after each end of a membership: what was being read for the one before is not for the next. */
  let term = 0
  let ca: { readonly pem: string; readonly sha256: string } | undefined
  const adopt = (pem: string, read: Awaited<ReturnType<NodeCredentials['readRevocations']>>): void => {
    list = { number: read.number, pem, rootUrl: read.url }
    revoked = new Set(read.list.map(({ serial }) => serial))
  }
  const load = async (): Promise<void> => {
    const names = ['learnt', 'crl', 'expelled'] as const
    const [kept, pem, gone] = await Promise.all(names.map((name) => readNote(db, name)))
    // Written by this module from typed values.
    if (gone !== undefined) expelled = JSON.parse(gone) as Expulsion
    if (identity.membership() === undefined) return
    if (kept !== undefined) view = JSON.parse(kept) as MeshView
    const read = pem && (await identity.readRevocations(pem).catch(() => undefined))
    if (pem && read) adopt(pem, read)
  }
  await load()
  return {
    view: () => view,
    list: () => list,
    isRevoked: (serial) => revoked.has(serial),
    rootUrl: () => list?.rootUrl,
    caSha256: () => {
      const pem = identity.membership()?.caPem
      if (pem === undefined) return undefined
      if (ca?.pem !== pem) ca = { pem, sha256: hash('sha256', new X509Certificate(pem).raw) }
      return ca.sha256
    },
    expelled: () => expelled,
    changes,
    takeView: async (next) => {
      await db.write(async (tx) => {
        await putNote(tx, 'learnt', JSON.stringify(next))
        await putNote(tx, 'expelled', undefined)
      })
      expelled = undefined
      view = next
      changes.tell()
    },
    takeList: async (pem) => {
      if (pem === list?.pem) return false
      const began = term
      const read = await identity.readRevocations(pem)
      if (term !== began || (list !== undefined && read.number <= list.number)) return false
      await db.write((tx) => putNote(tx, 'crl', pem))
      if (term !== began) return false
      adopt(pem, read)
      changes.tell()
      return true
    },
    clear: async (why) => {
      term += 1
      await db.write(async (tx) => {
        for (const name of ['learnt', 'crl'] as const) await putNote(tx, name, undefined)
        await putNote(tx, 'expelled', why === undefined ? undefined : JSON.stringify(why))
      })
      view = undefined
      list = undefined
      revoked = new Set()
      expelled = why
      changes.tell()
    },
  }
}

/** The entry of a node in a view. */
export function memberOf(view: MeshView | undefined, nodeId: string): MemberRecord | undefined {
  return view?.members.find((one) => one.node_id === nodeId)
}

/** How this node hears which certificates are revoked, its own among them. */
export interface RevocationListener {
  /** Takes a list from whomever, and ends the membership when it names this node's certificate. */
  take(pem: string): Promise<void>
  /** Asks the root without showing a certificate: it answers those too that it has put out. */
  askRoot(membership: Membership): Promise<void>
}

export function revocationListener(parts: EnrollParts, root: RootClient): RevocationListener {
  const { context, identity, membershipState, node } = parts
  const expelled = async (membership: Membership): Promise<void> => {
    await identity.forget()
    await membershipState.clear({ mesh: membership.meshName, atMs: context.clock.nowMs() })
    context.log.warn({ mesh: membership.meshName }, 'this node was taken out of the mesh by its root')
    await context.mutate(systemPrincipal('mesh'), 'node.expelled', node.nodeId, async (tx) => {
      tx.audit({ detail: { mesh: membership.meshName } })
    })
  }
  const take = async (pem: string): Promise<void> => {
    if (identity.membership() === undefined) return
    await membershipState.takeList(pem)
    const membership = identity.membership()
    if (
      membership !== undefined &&
      membershipState.isRevoked(serialOf(new X509Certificate(membership.certificatePem)))
    )
      await expelled(membership)
  }
  return {
    take,
    askRoot: async (membership) => {
      const { body } = await root.call(membership, {
        signal: context.retiring,
        method: 'GET',
        path: '/v1/mesh/crl',
        isAnonymous: true,
      })
      const pem = fieldOf(body, 'crl_pem')
      if (typeof pem === 'string') await take(pem)
    },
  }
}
