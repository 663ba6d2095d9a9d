import { setTimeout as delay } from 'node:timers/promises'
import { assert, enterOwnMachine, eventually, seededDraw, suite } from '@steeple/testkit'
import type { Box } from '../harness/mesh/box.ts'
import {
  addressesAt,
  invite,
  joinMesh,
  MESH_LIMIT,
  membersAt,
  together,
  type Village,
  village,
  WAIT_MS,
} from '../harness/mesh/mesh.ts'

enterOwnMachine(import.meta.filename)

const kills = suite('e2e/mesh-kill')
const ROUNDS = 8
/** Longer than a join takes on an idle machine: some kills come before it, some in it, some after it. */
const JOIN_MS = 400
const LEAVE_MS = 150
/** Longer than a rotation takes on an idle machine. */
const ROTATION_MS = 2_500
const FEW_ROUNDS = 5

let boxes: Village

kills.before(async () => {
  boxes = await village(3)
}, MESH_LIMIT)

kills.after(() => boxes.end())

function namesOf(members: readonly { readonly name: string }[]): string {
  return members.map(({ name }) => name).join(' ')
}

/** Sends a join and kills `victim` meanwhile; then it runs again. */
async function joinAndKill(
  joiner: Box,
  victim: Box,
  invitation: { readonly token: string; readonly url: string },
  afterMs: number,
): Promise<void> {
  const { token, url } = invitation
  const asked = joiner.ask('POST', '/v1/mesh/join', { token, url }).catch(() => undefined)
  await delay(afterMs)
  await victim.kill()
  await asked
  await victim.start()
}

kills(
  'a kill at any moment of a join leaves a member or none, a token that worked once, and one address',
  async () => {
    const [root, joiner, thief] = [boxes.box('box1'), boxes.box('box2'), boxes.box('box3')]
    const draw = seededDraw(11)
    let address: string | undefined
    for (let round = 0; round < ROUNDS; round += 1) {
      const said = `round ${round}`
      const victim = round % 2 === 0 ? root : joiner
      const invitation = await invite(root)
      await joinAndKill(joiner, victim, invitation, draw(JOIN_MS))
      // A member that was killed may have to hear of the others first, and says so.
      if ((await eventually(() => membersAt(joiner))).length < 2) {
        // It was not let in, or does not know it: the same invitation goes on where it was.
        const again = await joiner.ask('POST', '/v1/mesh/join', invitation)
        assert.is(again.status, 200, `${said}: ${JSON.stringify(again.body)}`)
      }
      const stolen = await thief.ask('POST', '/v1/mesh/join', invitation)
      assert.is(stolen.status, 409, said)
      assert.match(stolen.body.error?.message, /bootstrap_token_invalid/, said)
      assert.ok((await membersAt(thief)).length < 2, `${said}: the thief is in no mesh`)
      const atRoot = await membersAt(root)
      assert.is(namesOf(atRoot), 'box1 box2', said)
      // The joiner hears the list, and the root the keys of its WireGuard, behind the answer.
      await eventually(async () => assert.equal(await membersAt(joiner), await membersAt(root), said))
      const own = atRoot.find(({ name }) => name === 'box2')?.overlay_address
      address ??= own
      assert.is(own, address, `${said}: it keeps its address`)
      const left = await joiner.ask('POST', `/v1/nodes/${joiner.nodeId}/leave`)
      assert.equal([left.status, left.body.root_told], [200, true], said)
      assert.is(namesOf(await membersAt(root)), 'box1', said)
    }
    const other = await joinMesh(thief, root)
    assert.not.equal(other, address, 'an address is given once')
    assert.is(await joinMesh(joiner, root), address, 'who comes back gets its own')
  },
  MESH_LIMIT,
)

kills(
  'a kill at any moment of a leave leaves a member or none, on both sides, and its address its own',
  async () => {
    const [root, leaver] = [boxes.box('box1'), boxes.box('box2')]
    const draw = seededDraw(17)
    await together(boxes.boxes)
    const addresses = await addressesAt(root)
    for (let round = 0; round < FEW_ROUNDS; round += 1) {
      const said = `round ${round}`
      const victim = round % 2 === 0 ? leaver : root
      const asked = leaver.ask('POST', `/v1/nodes/${leaver.nodeId}/leave`).catch(() => undefined)
      await delay(draw(LEAVE_MS))
      await victim.kill()
      const answer = await asked
      await victim.start()
      // It says so when the root has not heard of it: that is the operator's to do.
      if (answer?.body.root_told === false)
        assert.is((await root.ask('POST', `/v1/nodes/${leaver.nodeId}/leave`)).status, 200, said)
      const isIn = async (at: Box): Promise<boolean> =>
        (await membersAt(at)).some(({ name }) => name === (at === root ? 'box2' : 'box1'))
      // Who was out before it knew of it hears it from the root.
      await eventually(async () => (await isIn(root)) === (await isIn(leaver)), WAIT_MS)
      if (await isIn(root)) continue
      assert.is(await joinMesh(leaver, root), addresses.get('box2'), said)
    }
    await together(boxes.boxes)
    assert.equal(await addressesAt(root), addresses)
  },
  MESH_LIMIT,
)

kills(
  'a kill at any moment of a change of keys loses no tunnel for good',
  async () => {
    const rotating = boxes.box('box2')
    const draw = seededDraw(23)
    const keys = async () => (await rotating.ask('GET', '/v1/peers/self')).body
    for (let round = 0; round < FEW_ROUNDS; round += 1) {
      const before = await keys()
      const begun = await rotating.ask('POST', '/v1/peers/rotate', {})
      assert.is(begun.status, 200, JSON.stringify(begun.body))
      const next = begun.body.next_public_key ?? (await keys()).public_key
      const victim = boxes.boxes[round % boxes.boxes.length] ?? rotating
      await delay(draw(ROTATION_MS))
      await victim.kill()
      await victim.start()
      await eventually(async () => {
        const now = await keys()
        return now.public_key === next && now.next_public_key === null
      }, WAIT_MS)
      assert.not.equal((await keys()).public_key, before.public_key)
      await together(boxes.boxes)
    }
  },
  MESH_LIMIT,
)

kills.run()
