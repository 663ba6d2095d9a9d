import { randomUUID } from 'node:crypto'
import { assert, fakeClock, memoryDb, suite } from '@steeple/testkit'
import { type MemberList, memberAddress, openMemberList } from '../../src/enroll/member-list.ts'
import { MIGRATIONS } from '../../src/enroll/store.ts'

const address = suite('mesh/address')
const SUBNET = '100.64.0.0/16'
const OWN = { nodeId: nodeId(1), name: 'root' }

function nodeId(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

/** A root with a store of its own: `admit` gives the address of a node. */
async function newRoot(subnet = SUBNET) {
  const clock = fakeClock(Date.UTC(2026, 5, 15, 12))
  const db = memoryDb(MIGRATIONS)
  const memberList = await openMemberList({ db, clock, subnet, own: OWN })
  const admit = async (number: number): Promise<string> => await admitTo(db, memberList, number)
  return { memberList, admit }
}

async function admitTo(
  db: ReturnType<typeof memoryDb>,
  memberList: MemberList,
  number: number,
): Promise<string> {
  const certificate = {
    ...{ serial: randomUUID(), node_id: nodeId(number), pem: '', issued_at_ms: 0, expires_at_ms: 9e15 },
    revoked_at_ms: null,
  }
  const wish = { nodeId: nodeId(number), name: `box${number}`, keySha256: 'k', address: null, certificate }
  return (await db.write((tx) => memberList.admit(tx, wish))).overlay_address
}

address(
  'is another one than a root gave that it does not remember, and the same for who comes again',
  async () => {
    const before = await newRoot()
    const kept = await before.admit(2)
    const lost = [await before.admit(3), await before.admit(4)]
    // A backup from when it knew the second box alone.
    const restored = await newRoot()
    assert.is(await restored.admit(2), kept)
    const given = [await restored.admit(5), await restored.admit(6)]
    for (const one of given) assert.not.ok(lost.includes(one), `${one} is somebody's`)
    assert.equal([await restored.admit(3), await restored.admit(4)], lost)
  },
)

address('is each node of a network its own, up to the last one of it', async () => {
  const { admit, memberList } = await newRoot('10.9.8.0/29')
  assert.is(memberList.member(OWN.nodeId)?.overlay_address, '10.9.8.1')
  const given: string[] = []
  for (const number of [2, 3, 4, 5, 6]) given.push(await admit(number))
  assert.equal(given.toSorted(), ['10.9.8.2', '10.9.8.3', '10.9.8.4', '10.9.8.5', '10.9.8.6'])
  const code = await admit(7).catch((error: unknown) => Reflect.get(Object(error), 'code'))
  assert.is(code, 'capacity_exceeded')
  assert.is(await admit(4), given[2], 'who comes back has its own')
})

address('is the next one that is free where two nodes meet', () => {
  const first = memberAddress(SUBNET, nodeId(2), new Set())
  const second = memberAddress(SUBNET, nodeId(2), new Set([first]))
  assert.not.equal(second, first)
  assert.match(second, /^100\.64\.\d+\.\d+$/)
})

address.run()
