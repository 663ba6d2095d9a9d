import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, enterOwnMachine, eventually, suite } from '@steeple/testkit'
import type { Box } from '../harness/mesh/box.ts'
import { ask, joinMesh, MESH_LIMIT, type Village, village, WAIT_MS } from '../harness/mesh/mesh.ts'

enterOwnMachine(import.meta.filename)

const groups = suite('e2e/groups')
const PROFILE = { technology: 'lte', channel: 1575, bandwidth_mhz: 10 }
const PARTS = ['policy', 'alert_rules', 'radio_profiles', 'users']

let three: Village
let hub: Box
let box: Box
let other: Box

groups.before(async () => {
  three = await village(3)
  hub = three.root
  box = three.box('box2')
  other = three.box('box3')
  for (const one of [box, other]) await joinMesh(one, hub)
}, MESH_LIMIT)

groups.after(async () => {
  await three?.end()
})

async function set(hours: number, more: object = {}): Promise<void> {
  const state = { policy: { sim_swap_cooldown_hours: hours }, ...more }
  await ask(hub, 'PUT', '/v1/groups/villages', { members: { all: true }, state })
}

async function standing(of: Box) {
  const { boxes } = await ask(hub, 'GET', '/v1/desired-state')
  return boxes.find(({ node_id: id }: { node_id: string }) => id === of.nodeId)
}

async function untilStanding(of: Box, wanted: string): Promise<number> {
  const begun = performance.now()
  await eventually(async () => {
    const { standing: now, parts } = await standing(of)
    assert.is(now, wanted, JSON.stringify(parts))
  }, WAIT_MS)
  return performance.now() - begun
}

async function hours(at: Box): Promise<number> {
  return (await ask(at, 'GET', '/v1/policy')).sim_swap_cooldown_hours
}

groups(
  'a box applies what it permits within a heartbeat, and one that permits nothing stays as it is',
  async () => {
    await ask(box, 'POST', '/v1/users', { name: 'ada', roles: ['viewer'] })
    await ask(box, 'PUT', '/v1/steering', { permitted: PARTS })
    await set(48, {
      radio_profiles: { mast: PROFILE },
      alert_rules: { disabled_rules: ['session_surge'] },
      users: { ada: { roles: ['operator'] } },
    })
    const begun = performance.now()
    await eventually(async () => assert.is(await hours(box), 48), WAIT_MS)
    process.stdout.write(`\n# applied at a box after ${Math.round(performance.now() - begun)} ms\n`)
    await eventually(async () => {
      const { has_version: version } = await standing(box)
      assert.is(version, 1)
    }, WAIT_MS)
    const { parts, standing: now } = await standing(box)
    assert.is(now, 'in_step', JSON.stringify(parts))
    assert.match(readFileSync(join(box.dataDir, '../control.yaml'), 'utf8'), 'session_surge')
    const { profiles } = await ask(box, 'GET', '/v1/tx/profiles')
    assert.ok(profiles.some(({ id }: { id: string }) => id === 'mast'))
    const { users } = await ask(box, 'GET', '/v1/users')
    assert.equal(users[0].roles, ['operator'])
    assert.is((await ask(box, 'GET', '/v1/tx/arm')).armed, false)
    await untilStanding(other, 'not_permitted')
    assert.is(await hours(other), 24)
  },
  MESH_LIMIT,
)

groups(
  'a box that was away gets the newest state alone, and what changes there shows at the hub',
  async () => {
    await box.kill()
    for (const one of [1, 2, 3]) await set(one)
    await box.start()
    await untilStanding(box, 'in_step')
    assert.is(await hours(box), 3)
    const listed = await hub.svc('group', 'boxes', '--json')
    assert.match(listed.stdout, 'in_step')
    const [there, wrong] = [await box.svc('group', 'steering'), await box.svc('group', 'permit')]
    assert.equal([there.code, wrong.code], [0, 2])
    const { entries } = await ask(box, 'GET', '/v1/audit?limit=500')
    const taken = entries.filter(({ action }: { action: string }) => action === 'groups.take')
    assert.equal(
      taken.map(({ detail }: { detail: { version: number } }) => detail.version).toSorted(),
      [1, 4],
    )
    await ask(box, 'PUT', '/v1/policy', { sim_swap_cooldown_hours: 7 })
    await untilStanding(box, 'differs')
    const { parts } = await standing(box)
    assert.equal(parts[0].drift, [{ pointer: '/policy/sim_swap_cooldown_hours', desired: '3', actual: '7' }])
  },
  MESH_LIMIT,
)

groups(
  'a new person comes to each box by a token of its own, once, and by none after it is withdrawn',
  async () => {
    const ada = await hub.ask('POST', '/v1/groups/villages/invitations', { name: 'ada', roles: ['admin'] })
    assert.is(ada.status, 400, 'who may arm or administer is given that right on the box')
    for (const one of [box, other])
      await ask(one, 'PUT', '/v1/steering', { permitted: [...PARTS, 'invitations'] })
    const wish = { name: 'grace', roles: ['operator'] }
    const { boxes } = await ask(hub, 'POST', '/v1/groups/villages/invitations', wish)
    const tokenOf = (at: Box): string =>
      boxes.find(({ node_id: id }: { node_id: string }) => id === at.nodeId).token
    const accept = (at: Box, token: string) =>
      at.ask('POST', '/v1/auth/invitation', { token, password: 'correct horse battery staple' })
    for (const one of [box, other]) await untilStanding(one, one === box ? 'differs' : 'in_step')
    assert.is(await hours(box), 7, 'what was changed here stays: the hub has said nothing new of it')

    assert.is((await accept(box, tokenOf(other))).status, 401, 'the token of another box opens nothing here')
    const { status, body } = await accept(box, tokenOf(box))
    assert.equal([status, body.name, body.roles], [201, 'grace', ['operator']])
    assert.is((await accept(box, tokenOf(box))).status, 401)
    // Also where she is removed there, and where the hub says something new.
    await ask(box, 'DELETE', `/v1/users/${body.id}`)
    await set(60)
    for (const one of [box, other]) await untilStanding(one, 'in_step')
    assert.is((await accept(box, tokenOf(box))).status, 401)
    assert.equal((await ask(box, 'GET', '/v1/users/invitations')).invitations, [])

    await ask(hub, 'DELETE', '/v1/groups/villages/invitations/grace')
    await eventually(
      async () => assert.equal((await ask(other, 'GET', '/v1/users/invitations')).invitations, []),
      WAIT_MS,
    )
    assert.is((await accept(other, tokenOf(other))).status, 401)

    const again = await hub.svc('group', 'invite', 'villages', 'grace', '--role', 'viewer', '--json')
    assert.is(again.code, 0, again.stderr)
    const { token } = JSON.parse(again.stdout).boxes.find(
      ({ node_id: id }: { node_id: string }) => id === other.nodeId,
    )
    await eventually(async () => assert.is((await accept(other, token)).status, 201), WAIT_MS)
    const { groups: kept } = await ask(hub, 'GET', '/v1/groups')
    const [{ invitations }] = kept
    assert.equal([invitations[0].name, invitations[0].boxes], ['grace', 2])
    assert.not.match(JSON.stringify(kept), 'svci_')
  },
  MESH_LIMIT,
)

groups(
  'an end of the permit holds at once, and both sides have it in their audit trail',
  async () => {
    await ask(box, 'PUT', '/v1/steering', { permitted: [] })
    await set(100)
    await untilStanding(box, 'not_permitted')
    assert.is(await hours(box), 60)
    const actions = async (at: Box) =>
      (await ask(at, 'GET', '/v1/audit?limit=500')).entries.map(({ action }: { action: string }) => action)
    assert.ok((await actions(box)).includes('groups.permit'))
    assert.ok((await actions(hub)).includes('groups.report'))
  },
  MESH_LIMIT,
)

groups.run()
