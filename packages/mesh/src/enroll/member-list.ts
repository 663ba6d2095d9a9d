import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Clock, capacityExceeded, type Db, type Tx } from '@steeple/contracts'
import { addressText, type Cidr, networkOf } from '../peers/cidr.ts'
import { type Changes, createChanges } from './changes.ts'
import {
  allMembers,
  CERTIFICATES,
  type CertificateRow,
  countUp,
  liveCertificates,
  MEMBERS,
  type MemberRow,
  nextNumber,
  readNote,
  revokeCertificates,
} from './store.ts'

/** The network's own address and the root's come before the first, the broadcast address after the last. */
const FIRST = 2

/** The overlay address of the root: the first one of the network. */
function rootAddress(subnet: string): string {
  return addressAt(subnetOf(subnet), 1)
}

/**
 * The overlay address of a node that has none yet: it follows from the node's id, and is the next one that is free where
 * somebody has that. So a root that has lost what it knew of a node (it was restored from an old backup) gives the same
 * address to that node, and another one to others; two ids meet in one address of 65,533 (prefix of 16 bits).
 *
 * `taken`: addresses that somebody has or had. Throws `capacity_exceeded` when nothing else is left.
 */
export function memberAddress(subnet: string, nodeId: string, taken: ReadonlySet<string>): string {
  const network = subnetOf(subnet)
  const count = 2 ** (32 - network.prefix) - 1 - FIRST
  const from = createHash('sha256').update(nodeId).digest().readUInt32BE(0)
  for (let step = 0; step < Math.min(count, taken.size + 1); step += 1) {
    const address = addressAt(network, FIRST + ((from + step) % count))
    if (!taken.has(address)) return address
  }
  throw capacityExceeded(
    `${subnet} has no address left for another node; set peering.subnet to a network that no member has an address of`,
  )
}

function addressAt({ bits }: Cidr, index: number): string {
  return addressText({ version: 4, bits: bits + BigInt(index), prefix: 32 })
}

/** The schema of the configuration lets nothing else through. */
function subnetOf(subnet: string): Cidr {
  const network = networkOf(subnet)
  if (network === undefined) throw new Error(`peering.subnet ${subnet} is no network`)
  return network
}

/** How long after its end a certificate that is not revoked still renews itself. */
export const GRACE_MS: number = 90 * 86_400_000

/** What the edge asks of a certificate. */
export interface KnownCertificate {
  readonly nodeId: string
  readonly isRevoked: boolean
}

/** A node that is let in, or comes back. */
interface Admission {
  readonly nodeId: string
  readonly name: string
  readonly keySha256: string
  readonly address: string | null
  readonly certificate: CertificateRow
}

/**
 * The members of the mesh whose root this node is. Reads are from memory, which follows each commit; changes are within
 * the caller's transaction.
 */
export interface MemberList {
  /** Those that are in, this node first. */
  members(): readonly MemberRow[]
  /** One that is or was in. */
  member(nodeId: string): MemberRow | undefined
  /** Whether a node beside this one is or was ever in. */
  readonly hadMembers: boolean
  certificate(serial: string): KnownCertificate | undefined
  /** The serials that a node has, in order; those that are revoked are not among them. */
  serials(nodeId: string): readonly string[]
  /** Another with each change of `members` and each revocation. */
  revision(): number
  /** Another with each of these changes, and with each new certificate. */
  stamp(): number
  /** Another one whenever the list is opened: revisions of two lists cannot be compared. */
  readonly listId: string
  /** The ids of those that came, changed or left after that revision of this list. */
  changedAfter(revision: number): readonly string[]
  readonly changes: Changes
  /** Takes up what another instance on the same store has committed. */
  follow(): Promise<void>
  /** Lets a node in with a new certificate: a new one gets an address that nobody ever had. */
  admit(tx: Tx, admission: Admission): Promise<MemberRow>
  /** Adds a certificate of a member. */
  renew(tx: Tx, certificate: CertificateRow): Promise<void>
  /** A member is out: what it has is revoked. */
  expel(tx: Tx, row: MemberRow): Promise<readonly CertificateRow[]>
  /** Writes a member whose entry is another now. */
  change(tx: Tx, row: MemberRow): Promise<void>
}

/** The row of a node that is let in: one that was a member before keeps its number and its address. */
function admitted(
  wish: Pick<Admission, 'nodeId' | 'name' | 'keySha256' | 'address'>,
  before: MemberRow | undefined,
  place: { readonly number: number; readonly address: string; readonly nowMs: number },
): MemberRow {
  return {
    node_id: wish.nodeId,
    name: wish.name,
    number: place.number,
    overlay_address: place.address,
    key_sha256: wish.keySha256,
    address: wish.address,
    seen_address: before?.seen_address ?? null,
    wireguard: before?.wireguard ?? null,
    joined_at_ms: before?.left_at_ms === null ? before.joined_at_ms : place.nowMs,
    left_at_ms: null,
  }
}

/** Opens the roster: what was committed before is in memory when it resolves. `subnet`: CIDR. */
export async function openMemberList(options: {
  readonly db: Db
  readonly clock: Clock
  readonly subnet: string
  readonly own: { readonly nodeId: string; readonly name: string }
}): Promise<MemberList> {
  const { db, clock, subnet, own } = options
  const known = new Map<string, MemberRow>()
  const certificates = new Map<string, KnownCertificate>()
  const serials = new Map<string, Set<string>>()
  /** The revision with which each was another the last time; a new certificate goes along with the next one. */
  const changedAt = new Map<string, number>()
  const changes = createChanges()
  let [revision, stamp] = [Number((await readNote(db, 'revision')) ?? 0), 0]
  const keep = (row: MemberRow): void => {
    known.set(row.node_id, row)
    stamp += 1
  }
  const keepCertificate = ({ serial, node_id, revoked_at_ms }: CertificateRow): void => {
    stamp += 1
    certificates.set(serial, { nodeId: node_id, isRevoked: revoked_at_ms !== null })
    const held = serials.get(node_id) ?? new Set()
    serials.set(node_id, held)
    if (revoked_at_ms === null) held.add(serial)
    else held.delete(serial)
  }
  const changed = async (tx: Tx, rows: readonly MemberRow[], certs: readonly CertificateRow[]) => {
    const next = await countUp(tx, 'revision')
    tx.afterCommit(() => {
      for (const row of rows) {
        keep(row)
        changedAt.set(row.node_id, next)
      }
      for (const row of certs) keepCertificate(row)
      revision = next
      changes.tell()
    })
  }
  const load = async (): Promise<void> => {
    for (const row of await allMembers(db)) keep(row)
    for (const row of await liveCertificates(db, clock.nowMs() - GRACE_MS)) keepCertificate(row)
  }
  const follow = async (): Promise<void> => {
    const next = Number((await readNote(db, 'revision')) ?? 0)
    if (next <= revision) return
    const before = new Map(known)
    await load()
    // Which of the revisions meanwhile it was nobody has noted.
    for (const [id, row] of known)
      if (!isDeepStrictEqual(row, before.get(id))) changedAt.set(id, Math.max(revision, next))
    revision = Math.max(revision, next)
    changes.tell()
  }
  await load()
  await keepOwn({ db, clock, subnet, own }, known)
  return {
    members: () =>
      [...known.values()].filter((row) => row.left_at_ms === null).sort((a, b) => a.number - b.number),
    member: (nodeId) => known.get(nodeId),
    get hadMembers() {
      return known.size > 1
    },
    certificate: (serial) => certificates.get(serial),
    serials: (nodeId) => [...(serials.get(nodeId) ?? [])].toSorted(),
    ...{ revision: () => revision, stamp: () => stamp },
    listId: randomUUID(),
    changedAfter: (after) => [...changedAt].filter(([, at]) => at > after).map(([id]) => id),
    ...{ changes, follow },
    admit: async (tx, { nodeId, name, keySha256, address, certificate }) => {
      const before = await MEMBERS.find(tx, { node_id: nodeId })
      const number = before?.number ?? (await nextNumber(tx))
      const row = admitted({ nodeId, name, keySha256, address }, before, {
        number,
        address: before?.overlay_address ?? memberAddress(subnet, nodeId, await givenAddresses(tx)),
        nowMs: clock.nowMs(),
      })
      await MEMBERS.put(tx, row)
      await CERTIFICATES.insert(tx, certificate)
      await changed(tx, [row], [certificate])
      return row
    },
    renew: async (tx, certificate) => {
      await CERTIFICATES.insert(tx, certificate)
      tx.afterCommit(() => {
        keepCertificate(certificate)
        changedAt.set(certificate.node_id, revision + 1)
      })
    },
    expel: async (tx, before) => {
      const nowMs = clock.nowMs()
      const row: MemberRow = { ...before, wireguard: null, left_at_ms: nowMs }
      await MEMBERS.put(tx, row)
      const revoked = await revokeCertificates(tx, row.node_id, nowMs)
      await changed(tx, [row], revoked)
      return revoked
    },
    change: async (tx, row) => {
      await MEMBERS.put(tx, row)
      await changed(tx, [row], [])
    },
  }
}

async function givenAddresses(tx: Tx): Promise<ReadonlySet<string>> {
  return new Set((await allMembers(tx)).map(({ overlay_address }) => overlay_address))
}

/** The root is the first of its own mesh. As long as it is alone its address follows the configuration. */
async function keepOwn(
  options: Parameters<typeof openMemberList>[0],
  known: Map<string, MemberRow>,
): Promise<void> {
  const { db, clock, subnet, own } = options
  const before = known.get(own.nodeId)
  const address = rootAddress(subnet)
  if (
    before !== undefined &&
    before.name === own.name &&
    (known.size > 1 || before.overlay_address === address)
  )
    return
  const row: MemberRow = {
    node_id: own.nodeId,
    name: own.name,
    number: 1,
    overlay_address: known.size > 1 && before !== undefined ? before.overlay_address : address,
    key_sha256: '',
    address: before?.address ?? null,
    seen_address: null,
    wireguard: before?.wireguard ?? null,
    joined_at_ms: before?.joined_at_ms ?? clock.nowMs(),
    left_at_ms: null,
  }
  await db.write((tx) => MEMBERS.put(tx, row))
  known.set(own.nodeId, row)
}
