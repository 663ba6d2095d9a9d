import { southboundUnavailable } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { peerLists } from '../../src/agent/agent.ts'
import type { MeshClient } from '../../src/agent/mesh-client.ts'
import type { MeshView } from '../../src/enroll/member-record.ts'
import { type MemberBed, memberBed } from '../support/member-bed.ts'
import { type RootBed, rootBed } from '../support/root-bed.ts'

/** A box is made, and another joins it. */
const LIMIT = { limitMs: 360_000 }
const asking = suite('mesh/peer-lists')
let root: RootBed
let one: MemberBed
asking.before(async () => {
  root = await rootBed({ name: 'valley' })
  one = await memberBed(root)
}, LIMIT)
asking.after(async () => {
  await one.close()
  await root.close()
})

asking('asks nobody twice before it has asked everybody', async () => {
  const ids = Array.from({ length: 7 }, (_, at) => `member-${at}`)
  const members = [one.id, ...ids].map((node_id, at) => ({
    node_id,
    name: node_id,
    is_root: false,
    overlay_address: `100.64.1.${at}`,
    address: null,
    joined_at: '2026-06-15T12:00:00.000Z',
    wireguard: null,
  }))
  const view: MeshView = {
    mesh: { name: 'valley', root_node_id: root.bed.identity.nodeId },
    subnet: '100.64.0.0/16',
    revision: 1,
    members,
  }
  const asked: (string | undefined)[] = []
  const client: MeshClient = {
    call: async ({ nodeId }) => {
      asked.push(nodeId)
      throw southboundUnavailable('nobody is there')
    },
    close: () => {},
  }
  const parts = { ...one.parts, membershipState: { ...one.parts.membershipState, view: () => view } }
  const ask = peerLists(parts, client, async () => assert.unreachable('nobody has a list'))
  for (const round of [1, 2, 3]) {
    await ask()
    assert.is(new Set(asked).size, Math.min(3 * round, ids.length))
  }
  assert.equal(asked.toSorted(), ids)
  await ask()
  assert.is(asked.length, ids.length + 3, 'then from the beginning')
  assert.not.ok(asked.includes(one.id))
})

asking.run()
