import { hash } from 'node:crypto'
import { assert, eventually, suite } from '@steeple/testkit'
import { type Box, standingAt, world } from '../support/world.ts'

const stages = suite('groups/software-stages', { limitMs: 60_000 })
const [BUILD, OTHER] = ['0a1b2c3d4e5f', 'f5e4d3c2b1a0']

interface Software {
  readonly rollouts: readonly {
    readonly build: string
    readonly stage: string
    readonly given: readonly string[]
    readonly stopped_by: string | null
  }[]
}

function softwareAt(hub: Box): Promise<Software> {
  return hub.ask<Software>('GET', '/v1/software')
}

async function set(hub: Box, software: object): Promise<void> {
  await hub.ask('PUT', '/v1/groups/villages', { members: { all: true }, state: { software } })
}

/** What a box tells the hub, by a report of its own. */
async function told(hub: Box, box: Box, report: object): Promise<void> {
  const token = hub.bed.credential({ kind: 'node', id: box.id, roles: ['node'] })
  const body = { permitted: ['software'], ...report }
  const answer = await hub.bed.request('PUT', `/v1/desired-state/${box.id}/report`, { token, body })
  assert.is(answer.status, 200, JSON.stringify(answer.body))
}

/** The build that the hub tells a box to run. */
async function toldTo(hub: Box, box: Box): Promise<unknown> {
  const { document } = await hub.ask<{ document: string }>('GET', `/v1/desired-state/${box.id}`)
  return JSON.parse(document).state.software?.build
}

stages(
  'the first box that refuses a build stops it; no other box hears of it, until the group names another one',
  async () => {
    await using all = await world(3)
    const { hub, boxes } = all
    for (const box of boxes) {
      await box.ask('PUT', '/v1/steering', { permitted: ['software'] })
      await hub.ask('PUT', '/v1/groups/none', { members: { nodes: [box.id] }, state: {} })
      // It is heard of.
      await eventually(async () => {
        await box.beat()
        assert.equal((await standingAt(hub, box)).permitted, ['software'])
      })
    }
    await set(hub, { build: BUILD, settle_minutes: 0 })
    const { rollouts } = await softwareAt(hub)
    const [first] = rollouts[0]?.given ?? []
    assert.is(rollouts[0]?.given.length, 1)
    // Nothing has started these boxes that would start another build, so the chosen one refuses.
    await eventually(async () => {
      for (const box of boxes) await box.beat()
      const [now] = (await softwareAt(hub)).rollouts
      assert.equal([now?.stage, now?.stopped_by, now?.given], ['stopped', first, [first]])
    })
    for (const box of boxes) assert.is(await toldTo(hub, box), box.id === first ? BUILD : undefined)
    await set(hub, { build: OTHER, at_once: true })
    for (const box of boxes) assert.is(await toldTo(hub, box), OTHER)
    assert.equal(
      (await softwareAt(hub)).rollouts.map(({ build, given }) => [build, given.length]),
      [[OTHER, 3]],
    )
  },
)

stages('when the first box reports that it runs the build, the others are given it', async () => {
  await using all = await world(3)
  const { hub, boxes } = all
  for (const box of boxes) await told(hub, box, { version: 0, digest: '', parts: [] })
  await set(hub, { build: BUILD, settle_minutes: 0 })
  const [first = ''] = (await softwareAt(hub)).rollouts[0]?.given ?? []
  const [chosen] = boxes.filter(({ id }) => id === first)
  if (chosen === undefined) throw new Error('no box was chosen')
  const { document } = await hub.ask<{ document: string }>('GET', `/v1/desired-state/${first}`)
  const part = { part: 'software', status: 'applied', problems: [], drift: [] }
  const report = { version: 1, digest: hash('sha256', document), parts: [part] }
  for (const [permitted, stage, given] of [
    [['software'], 'tenth', 1],
    [['policy', 'software'], 'all', 3],
  ] as const) {
    await told(hub, chosen, { ...report, permitted })
    await eventually(async () => {
      const [now] = (await softwareAt(hub)).rollouts
      assert.equal([now?.stage, now?.given.length], [stage, given])
    })
  }
  for (const box of boxes) assert.is(await toldTo(hub, box), BUILD)
})

stages(
  'how a build is let out is told to no box, and a box that permits nothing is not the first',
  async () => {
    await using all = await world(2)
    const { hub, boxes } = all
    const [willing, other] = boxes as [Box, Box]
    await willing.ask('PUT', '/v1/steering', { permitted: ['software'] })
    await hub.ask('PUT', '/v1/groups/none', { members: { all: true }, state: {} })
    for (const box of boxes)
      await eventually(async () => {
        await box.beat()
        assert.is((await standingAt(hub, box)).has_version, 1)
      })
    await set(hub, { build: BUILD, settle_minutes: 60, hours: { from: 22, to: 5 } })
    assert.equal((await softwareAt(hub)).rollouts[0]?.given, [willing.id])
    assert.is(await toldTo(hub, other), undefined)
    const { document } = await hub.ask<{ document: string }>('GET', `/v1/desired-state/${willing.id}`)
    assert.equal(JSON.parse(document).state.software, { build: BUILD, hours: { from: 22, to: 5 } })
    await hub.ask('DELETE', '/v1/groups/villages', undefined, 204)
    assert.equal((await softwareAt(hub)).rollouts, [])
  },
)

stages.run()
