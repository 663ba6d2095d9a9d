import { type BoxCalls, nodeNotFound, southboundUnavailable } from '@steeple/contracts'
import type { MemberRecord } from '../enroll/member-record.ts'
import { apiPlace } from '../enroll/own-address.ts'
import type { EnrollParts } from '../enroll/parts.ts'
import { addressesOf } from './addresses.ts'
import type { MeshClient } from './mesh-client.ts'

const HTTPS_PORT = 443
const TIMEOUT_MS = 10_000

/** Speaks to other members. `records`: all of them, those left out that are known to be out. */
export function memberCalls(
  parts: EnrollParts,
  client: MeshClient,
  records: () => readonly MemberRecord[] | undefined,
): BoxCalls {
  const { context, identity, authority, node } = parts
  const others = (): readonly MemberRecord[] | undefined =>
    records()?.filter(({ node_id }) => node_id !== node.nodeId)
  const urlsOf = (record: MemberRecord): readonly string[] => {
    const known = addressesOf(record, apiPlace(context).port ?? HTTPS_PORT)
    const membership = identity.membership()
    return record.is_root && membership !== undefined ? [...new Set([membership.rootUrl, ...known])] : known
  }
  return {
    others: async () => others()?.map(({ node_id: nodeId, name }) => ({ nodeId, name })),
    call: async (nodeId, question, signal) => {
      const record = others()?.find(({ node_id }) => node_id === nodeId)
      if (record === undefined) throw nodeNotFound(nodeId)
      const caPem = identity.membership()?.caPem ?? authority.caPem
      let last: unknown
      for (const url of urlsOf(record)) {
        try {
          return await client.call({ ...question, url, caPem, nodeId, timeoutMs: TIMEOUT_MS, signal })
        } catch (error) {
          signal.throwIfAborted()
          last = error
        }
      }
      throw last ?? southboundUnavailable(`nothing is known of where ${record.name} answers`)
    },
  }
}
