import { fileURLToPath } from 'node:url'
import { assert, eventually, suite } from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { type Box, standingAt, type World, world } from './support/world.ts'

const invitations = suite('groups/invitations', { limitMs: 60_000 })
const ACCESS = { dir: fileURLToPath(new URL('../../access', import.meta.url)) }
type Restored = Parameters<NonNullable<typeof plugin.restored>>[1]
const PASSWORD = 'correct horse battery staple'

interface Given {
  readonly boxes: readonly { readonly node_id: string; readonly token: string }[]
}
interface Open {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
}

async function permitted(count: number, also: readonly string[] = []): Promise<World> {
  const all = await world(count, [ACCESS])
  for (const box of all.boxes) await box.ask('PUT', '/v1/steering', { permitted: ['invitations', ...also] })
  return all
}

const group = (hub: Box, name: string, members: object, rank = 0) =>
  hub.ask('PUT', `/v1/groups/${name}`, { members, rank, state: {} })

async function invite(hub: Box, name: string, person: string, roles = ['operator']) {
  const { boxes } = await hub.ask<Given>(
    'POST',
    `/v1/groups/${name}/invitations`,
    { name: person, roles },
    201,
  )
  return (box: Box): string => boxes.find(({ node_id }) => node_id === box.id)?.token ?? ''
}

/** Until the box has the newest, and has done with it. */
async function hears(hub: Box, box: Box): Promise<void> {
  await eventually(async () => {
    await box.beat()
    const { version } = await standingAt(hub, box)
    const here = await box.ask<{ version: number; parts: readonly { status: string }[] }>(
      'GET',
      '/v1/steering',
    )
    assert.is(here.version, version)
    assert.ok(
      here.parts.every(({ status }) => status === 'applied'),
      JSON.stringify(here),
    )
  })
}

const accept = async (box: Box, token: string) =>
  await box.bed.request('POST', '/v1/auth/invitation', { token: false, body: { token, password: PASSWORD } })

async function open(box: Box): Promise<readonly Open[]> {
  return (await box.ask<{ invitations: readonly Open[] }>('GET', '/v1/users/invitations?limit=500'))
    .invitations
}

invitations(
  'one who was removed while she had an account is not let in by the next invitation of another',
  async () => {
    await using all = await permitted(1)
    const { hub } = all
    const [box] = all.boxes as [Box]
    const { id } = await box.ask('POST', '/v1/users', { name: 'grace', roles: ['viewer'] }, 201)
    await group(hub, 'villages', { all: true })
    const grace = await invite(hub, 'villages', 'grace')
    await hears(hub, box)
    await box.bed.request('DELETE', `/v1/users/${String(id)}`)
    await invite(hub, 'villages', 'heidi')
    await hears(hub, box)
    assert.equal(
      (await open(box)).map(({ name }) => name),
      ['heidi'],
    )
    assert.is((await accept(box, grace(box))).status, 401)
  },
)

invitations('an end of the permit ends what the hub has opened', async () => {
  await using all = await permitted(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await group(hub, 'villages', { all: true })
  const thief = await invite(hub, 'villages', 'thief')
  await hears(hub, box)
  await box.ask('PUT', '/v1/steering', { permitted: [] })
  await eventually(async () => assert.equal(await open(box), []))
  assert.is((await accept(box, thief(box))).status, 401)
})

invitations(
  'what the hub withdraws is its own: the invitation of the box for the same name stays',
  async () => {
    await using all = await permitted(1)
    const { hub } = all
    const [box] = all.boxes as [Box]
    await group(hub, 'villages', { all: true })
    for (const _ of [1, 2, 3, 4])
      await box.ask('POST', '/v1/users/invitations', { name: 'grace', roles: ['admin'] }, 201)
    const grace = await invite(hub, 'villages', 'grace')
    await hears(hub, box)
    assert.is((await open(box)).length, 5)
    await hub.bed.request('DELETE', '/v1/groups/villages/invitations/grace')
    await hears(hub, box)
    assert.equal(
      (await open(box)).map(({ roles }) => roles),
      Array.from({ length: 4 }, () => ['admin']),
    )
    assert.is((await accept(box, grace(box))).status, 401)
  },
)

invitations('a withdrawal finds its invitation among many', async () => {
  await using all = await permitted(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await group(hub, 'villages', { all: true })
  const people = Array.from({ length: 130 }, (_, i) => `person-${i}`)
  for (const name of people) await box.ask('POST', '/v1/users/invitations', { name, roles: ['viewer'] }, 201)
  const tokens: string[] = []
  const names = Array.from({ length: 8 }, (_, i) => `grace-${i}`)
  for (const name of names) tokens.push((await invite(hub, 'villages', name))(box))
  await hears(hub, box)
  for (const name of names) await hub.bed.request('DELETE', `/v1/groups/villages/invitations/${name}`)
  await hears(hub, box)
  assert.equal(
    (await open(box)).filter(({ name }) => name.startsWith('grace')).map(({ name }) => name),
    [],
  )
})

invitations('capitals make no other person', async () => {
  await using all = await permitted(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await group(hub, 'villages', { all: true })
  const first = await invite(hub, 'villages', 'Grace')
  await hears(hub, box)
  await invite(hub, 'villages', 'grace')
  await hears(hub, box)
  assert.is((await open(box)).length, 1)
  assert.is((await accept(box, first(box))).status, 401)
  assert.is((await hub.bed.request('DELETE', '/v1/groups/villages/invitations/GRACE')).status, 204)
  await hears(hub, box)
  assert.equal(await open(box), [])
})

invitations('a withdrawal in one group leaves the invitation of another', async () => {
  await using all = await permitted(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await group(hub, 'a', { all: true })
  await group(hub, 'b', { all: true })
  await invite(hub, 'b', 'grace')
  await hears(hub, box)
  await hub.bed.request('DELETE', '/v1/groups/b/invitations/grace')
  await hears(hub, box)
  const good = await invite(hub, 'a', 'grace')
  await hears(hub, box)
  assert.is((await accept(box, good(box))).status, 201)
})

invitations('a withdrawal reaches a box that was taken out of the group', async () => {
  await using all = await permitted(2)
  const { hub } = all
  const [box, other] = all.boxes as [Box, Box]
  await group(hub, 'villages', { all: true })
  const grace = await invite(hub, 'villages', 'grace')
  for (const one of [box, other]) await hears(hub, one)
  await group(hub, 'villages', { nodes: [other.id] })
  await hears(hub, box)
  await hub.bed.request('DELETE', '/v1/groups/villages/invitations/grace')
  await hears(hub, box)
  assert.is((await accept(box, grace(box))).status, 401)
})

invitations('a group that is removed leaves no invitation that nobody can withdraw', async () => {
  await using all = await permitted(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await group(hub, 'villages', { all: true })
  const grace = await invite(hub, 'villages', 'grace')
  await hears(hub, box)
  await hub.bed.request('DELETE', '/v1/groups/villages')
  await hears(hub, box)
  assert.is((await accept(box, grace(box))).status, 401)
})

invitations('too many are refused where they are made', async () => {
  await using all = await permitted(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  await group(hub, 'villages', { all: true })
  const statuses: number[] = []
  for (let i = 0; i < 402; i++) {
    const body = { name: `p${i}`, roles: ['viewer'] }
    statuses.push((await hub.bed.request('POST', '/v1/groups/villages/invitations', { body })).status)
  }
  assert.equal(statuses.slice(399), [201, 400, 400])
  await hears(hub, box)
})

invitations('a hub that comes back from a backup opens nothing that was withdrawn since', async () => {
  await using now = await permitted(1)
  await using then = await permitted(1)
  for (const { hub } of [now, then]) {
    await group(hub, 'villages', { all: true })
    for (const person of ['grace', 'heidi']) await invite(hub, 'villages', person)
  }
  await now.hub.ask('DELETE', '/v1/groups/villages/invitations/grace', undefined, 204)
  const invited = async () =>
    (await then.hub.ask<{ invitations: readonly Open[] }>('GET', '/v1/groups/villages')).invitations.map(
      ({ name }) => name,
    )
  const restore = (present?: NonNullable<Restored['present']>) =>
    then.hub.db.write(async (tx) => {
      const at: Restored = { takenAtMs: 0, nowMs: Date.now(), close: () => undefined }
      await plugin.restored?.(tx, present === undefined ? at : { ...at, present })
    })
  await restore({ db: now.hub.db, reseal: () => undefined })
  assert.equal(await invited(), ['heidi'])
  await restore()
  assert.equal(await invited(), [])
})

invitations.run()
