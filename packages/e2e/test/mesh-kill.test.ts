import { setTimeout as delay } from 'node:timers/promises'
import { assert, enterOwnMachine, eventually, seededDraw, suite } from '@steeple/testkit'
import type { Box } from '../harness/mesh/box.ts'
import { invite, joinMesh, MESH_LIMIT, membersAt, type Village, village } from '../harness/mesh/mesh.ts'

enterOwnMachine(import.meta.filename)

const kills = suite('e2e/mesh-kill')
const ROUNDS = 8
/** Longer than a join takes on an idle machine: some kills come before it, some in it, some after it. */
const JOIN_MS = 400

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

kills.run()
