import type { MeshMembership } from '@steeple/contracts'
import {
  type MemberRecord,
  publishedFrom,
  type WireguardRecord,
  wireguardRecord,
} from '../enroll/member-record.ts'
import { memberOf } from '../enroll/membership-state.ts'
import { ownAddress } from '../enroll/own-address.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { putNote, readNote } from '../enroll/store.ts'
import { newsFrom, refusal } from './answers.ts'
import type { RevocationListener } from './revocation-listener.ts'
import type { RootClient } from './root-call.ts'

/** A question for news waits so long at the root, and the answer a little longer on its way. */
const WAIT_S = 50
const NEWS_TIMEOUT_MS = 65_000

/** What goes to and fro between a member and its root about the members. */
export interface News {
  /** Asks what is new; waits for it when `mayWait`. */
  ask(membership: MeshMembership, mayWait: boolean): Promise<void>
  /** Keeps what this node tells of its WireGuard, in whatever mesh. */
  keep(wireguard: WireguardRecord): Promise<void>
  /** Sends it to the root unless that has it. */
  send(membership: MeshMembership): Promise<void>
}

/** Makes it. */
export function meshNews(parts: EnrollParts, root: RootClient, heard: RevocationListener): News {
  const { context, identity, membershipState, node } = parts
  /** What was sent last: a root of an earlier version keeps less of it than it is told. */
  let sent: string | undefined
  return {
    ask: async (membership, mayWait) => {
      const known = membershipState.view()
      const query = known === undefined || !mayWait ? '' : `?after=${known.revision}&wait_s=${WAIT_S}`
      const answer = await root.call(membership, {
        signal: context.retiring,
        timeoutMs: NEWS_TIMEOUT_MS,
        method: 'GET',
        path: `/v1/mesh/members${query}`,
      })
      const { view, crlPem } = newsFrom(answer)
      // What was asked for in another mesh is not for this one.
      if (identity.membership()?.rootNodeId !== membership.rootNodeId) return
      if (JSON.stringify(view) !== JSON.stringify(known)) await membershipState.takeView(view)
      if (crlPem !== undefined) await heard.take(crlPem)
    },
    keep: (wireguard) => context.db.write((tx) => putNote(tx, 'wireguard', JSON.stringify(wireguard))),
    send: async (membership) => {
      const wanted = await readNote(context.db, 'wireguard')
      if (wanted === undefined) return
      // Written by `keep`.
      const record = JSON.parse(wanted) as WireguardRecord
      const address = ownAddress(context) ?? null
      const known = memberOf(membershipState.view(), node.nodeId)
      const text = JSON.stringify([record, address])
      if (
        known !== undefined &&
        isTold(known, record) &&
        (isToldAll(known, record, address) || text === sent)
      )
        return
      const { takes, ...body } = record
      const answer = await root.call(membership, {
        signal: context.retiring,
        method: 'PUT',
        path: `/v1/mesh/members/${node.nodeId}/wireguard`,
        body,
        more: { takes, address },
      })
      if (answer.status !== 200) throw refusal(answer)
      sent = text
    },
  }
}

/** Whether the root has what each keeps. Where this node names no endpoint the root has filled one in. */
function isTold({ wireguard }: MemberRecord, record: WireguardRecord): boolean {
  if (wireguard === null) return false
  const shown = { ...wireguard, endpoint: record.endpoint && wireguard.endpoint, takes: record.takes ?? [] }
  return textOf(shown) === textOf(record)
}

function isToldAll(
  { wireguard, address }: MemberRecord,
  { takes = [] }: WireguardRecord,
  own: string | null,
): boolean {
  return address === own && takes.join() === wireguard?.takes?.join()
}

function textOf(record: WireguardRecord): string {
  return JSON.stringify(wireguardRecord(publishedFrom(record)))
}
