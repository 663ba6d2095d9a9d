import type { MeshAgent } from '../agent/agent.ts'
import type { Members } from '../members.ts'
import { isIn } from '../peers/cidr.ts'
import { memberOf } from './learnt.ts'
import { type MemberRecord, memberFrom, rootView, wireguardRecord } from './member-record.ts'
import type { EnrollParts } from './parts.ts'
import { findMember } from './store.ts'

/** The members as the other parts of the plugin see them, at the root and elsewhere. */
export function meshMembers(parts: EnrollParts, agent: Pick<MeshAgent, 'publish'>): Members {
  const { context, identity, node, roster, learnt } = parts
  // Its root may not have been heard since: the signed list says it, whoever has passed that on.
  const isOut = ({ serials = [] }: MemberRecord): boolean =>
    identity.membership() !== undefined && serials.length > 0 && serials.every(learnt.isRevoked)
  const view = () => (identity.membership() === undefined ? rootView(parts) : learnt.view())
  return {
    overlay: () => {
      const membership = identity.membership()
      if (membership !== undefined) {
        // The address is known at once; the network with the first answer of the root.
        const told = learnt.view()?.subnet
        const { overlayAddress: address } = membership
        // The operator's word on the network goes before the root's.
        return told === undefined
          ? undefined
          : { address, subnet: isIn(context.config.subnet, address) ? context.config.subnet : told }
      }
      const own = roster.member(node.nodeId)
      if (own === undefined || !roster.hadMembers) return undefined
      return { address: own.overlay_address, subnet: context.config.subnet }
    },
    list: () => {
      if (!context.config.enabled) return []
      const members = (view()?.members ?? []).filter((record) => !isOut(record))
      return members.map((record) => memberFrom(record, node.nodeId))
    },
    hasPutOut: (nodeId) => {
      if (identity.membership() === undefined) return (roster.member(nodeId)?.left_at_ms ?? null) !== null
      const known = learnt.view()
      const record = memberOf(known, nodeId)
      return known !== undefined && (record === undefined || isOut(record))
    },
    isRevoked: (serial) =>
      identity.membership() === undefined
        ? (roster.certificate(serial)?.isRevoked ?? false)
        : learnt.isRevoked(serial),
    publish: async (wireguard) => {
      const record = wireguardRecord(wireguard)
      // The root's own is kept at once; in the mesh of another one it is sent there.
      await context.db.write(async (tx) => {
        const own = await findMember(tx, node.nodeId)
        const text = JSON.stringify(record)
        if (own !== undefined && own.wireguard !== text) await roster.change(tx, { ...own, wireguard: text })
      })
      await agent.publish(record)
    },
    onChange: (listener) => {
      const stops = [
        roster.changes.listen(listener),
        learnt.changes.listen(listener),
        identity.onChange(listener),
      ]
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}
