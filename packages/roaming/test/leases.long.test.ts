import { type Imsi, visitorsRef } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { assert, eventually, suite } from '@steeple/testkit'
import { Card } from './support/card.ts'
import { KEYS } from './support/keys.ts'
import { permit, simAt, tablesWith, type World, world } from './support/world.ts'

const leases = suite('roaming/leases')
const IMSI = '999990000000001' as Imsi
const HOUR_MS = 3_600_000

function scene(sentence: string, body: (all: World) => Promise<void>, config: object = {}): void {
  leases(sentence, async () => {
    const all = await world(['home', 'one', 'two'], config)
    try {
      await body(all)
    } finally {
      await all.close()
    }
  })
}

scene(
  'a SIM works on each permitted box, also while its home is off, and no card falls out of step',
  async ({ boxes }) => {
    const [home, one, two] = boxes
    if (home === undefined || one === undefined || two === undefined) throw new Error('three boxes')
    const hash = await simAt(home, IMSI)
    await permit(home, one)
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    assert.not.ok(two.hss.held.has(IMSI), 'a box that was not permitted has it')
    await permit(home, two)
    await eventually(() => assert.ok(two.hss.held.has(IMSI)))
    home.isReachable = false
    const card = new Card(KEYS)
    for (const box of [home, one, two, one, home, two, two, home])
      assert.is(box.attach(IMSI, card), 'takes', box.name)
    const { boxes: told } = await home.ask<{ boxes: { name: string; state: string; is_told: boolean }[] }>(
      'GET',
      `/v1/sims/${hash}/reach`,
    )
    assert.equal(told.map(({ name, state, is_told }) => [name, state, is_told]).toSorted(), [
      ['one', 'open', true],
      ['two', 'open', true],
    ])
  },
)

scene('boxes come in the order of their ids, whatever order the members have', async ({ boxes }) => {
  const [home, ...others] = boxes
  if (home === undefined) throw new Error('a home')
  for (const other of others) await permit(home, other)
  await simAt(home, IMSI)
  for (const { hss } of others) await eventually(() => assert.ok(hss.held.has(IMSI)))
  const granted = (await home.bed.audit()).filter(({ action }) => action === 'roaming.grant').toReversed()
  assert.equal(
    granted.map(({ target }) => target),
    others.map(({ id }) => id).toSorted(),
  )
})

scene('what is suspended at home is cut off at the visited box, and comes back', async ({ boxes }) => {
  const [home, one] = boxes
  if (home === undefined || one === undefined) throw new Error('two boxes')
  const hash = await simAt(home, IMSI)
  await permit(home, one)
  await eventually(() => assert.ok(one.hss.held.has(IMSI)))
  const card = new Card(KEYS)
  assert.is(one.attach(IMSI, card), 'takes')
  await home.ask('POST', `/v1/sims/${hash}/suspend`, {})
  await eventually(() => assert.is(one.hss.held.get(IMSI)?.isBlocked, true))
  await eventually(() => assert.not.ok(one.core.attached.has(IMSI)))
  // Refused after its card has taken a SQN of there: the next is another one.
  assert.is(one.attach(IMSI, card), undefined)
  await home.ask('POST', `/v1/sims/${hash}/resume`, {})
  await eventually(() => assert.is(one.hss.held.get(IMSI)?.isBlocked, false))
  assert.is(one.attach(IMSI, card), 'takes')
  await home.ask('POST', `/v1/sims/${hash}/revoke`, {})
  await eventually(() => assert.not.ok(one.hss.held.has(IMSI)))
  await eventually(async () => assert.equal((await one.ask('GET', '/v1/roaming/visitors')).visitors, []))
})

scene(
  'a box that is cut off from the home serves no longer than its lease, and again when the home is back',
  async ({ boxes }) => {
    const [home, one] = boxes
    if (home === undefined || one === undefined) throw new Error('two boxes')
    await simAt(home, IMSI)
    await permit(home, one)
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    const card = new Card(KEYS)
    assert.is(one.attach(IMSI, card), 'takes')
    home.isReachable = false
    await eventually(() => assert.not.ok(one.hss.held.has(IMSI)))
    await eventually(async () => assert.equal((await one.ask('GET', '/v1/roaming/visitors')).visitors, []))
    assert.not.ok(one.core.attached.has(IMSI), 'its session goes on')
    home.isReachable = true
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    assert.is(one.attach(IMSI, card), 'takes')
    // Put out of the mesh: it keeps nothing.
    one.isMember = false
    for (const box of boxes) box.membersChanged()
    await eventually(() => assert.not.ok(one.hss.held.has(IMSI)))
  },
  { lease: '5s' },
)

scene('a home whose clock is set back tells what is due once its boxes are back', async ({ boxes }) => {
  const [home, one] = boxes
  if (home === undefined || one === undefined) throw new Error('two boxes')
  const hash = await simAt(home, IMSI)
  await permit(home, one)
  await eventually(() => assert.ok(one.hss.held.has(IMSI)))
  one.isReachable = false
  await home.setClock(4 * HOUR_MS)
  await home.ask('POST', `/v1/sims/${hash}/suspend`, {})
  await eventually(async () => {
    const { boxes: told } = await home.ask<{ boxes: { is_told: boolean }[] }>('GET', `/v1/sims/${hash}/reach`)
    assert.equal(told, [{ ...told[0], is_told: false }])
  })
  await home.setClock(-4 * HOUR_MS)
  one.isReachable = true
  await eventually(() => assert.is(one.hss.held.get(IMSI)?.isBlocked, true))
})

scene('what is used at visited boxes counts at home, once, whatever answer is lost', async ({ boxes }) => {
  const [home, one, two] = boxes
  if (home === undefined || one === undefined || two === undefined) throw new Error('three boxes')
  // Before its visit it was somebody else's.
  const hash = imsiHash(IMSI)
  one.usage.seen.set(hash, { upBytes: 7, downBytes: 9 })
  await simAt(home, IMSI)
  for (const box of [one, two]) await permit(home, box)
  for (const box of [one, two]) await eventually(() => assert.ok(box.hss.held.has(IMSI)))
  const counted = (): number => home.usage.submitted.reduce((sum, { bytes }) => sum + bytes, 0)
  one.usage.seen.set(hash, { upBytes: 107, downBytes: 209 })
  two.usage.seen.set(hash, { upBytes: 1, downBytes: 2 })
  home.lostAnswers = 2
  await eventually(() => assert.is(counted(), 303))
  one.usage.seen.set(hash, { upBytes: 157, downBytes: 209 })
  await eventually(() => assert.is(counted(), 353))
  assert.equal([...new Set(home.usage.submitted.map(({ source }) => source))].toSorted(), [
    'visit:one',
    'visit:two',
  ])
  const { boxes: told } = await home.ask<{
    boxes: { name: string; up_bytes: number; down_bytes: number }[]
  }>('GET', `/v1/sims/${hash}/reach`)
  assert.equal(told.map(({ name, up_bytes, down_bytes }) => [name, up_bytes, down_bytes]).toSorted(), [
    ['one', 150, 200],
    ['two', 1, 2],
  ])
})

scene('what is used while the clock of the visited box is set back counts at home', async ({ boxes }) => {
  const [home, one] = boxes
  if (home === undefined || one === undefined) throw new Error('two boxes')
  const hash = await simAt(home, IMSI)
  await permit(home, one)
  await eventually(() => assert.ok(one.hss.held.has(IMSI)))
  await one.setClock(-4 * HOUR_MS)
  one.usage.seen.set(hash, { upBytes: 100, downBytes: 200, atMs: one.clock.nowMs() })
  await eventually(() =>
    assert.equal(
      home.usage.submitted.map(({ bytes }) => bytes),
      [300],
    ),
  )
})

scene(
  'what is used until a lease ends counts at home once the boxes hear of each other again, once',
  async ({ boxes }) => {
    const [home, one] = boxes
    if (home === undefined || one === undefined) throw new Error('two boxes')
    const hash = imsiHash(IMSI)
    const counted = (): number => home.usage.submitted.reduce((sum, { bytes }) => sum + bytes, 0)
    await simAt(home, IMSI)
    await permit(home, one)
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    one.usage.seen.set(hash, { upBytes: 10, downBytes: 0 })
    await eventually(() => assert.is(counted(), 10))
    home.isReachable = false
    one.usage.seen.set(hash, { upBytes: 60, downBytes: 40 })
    await eventually(() => assert.not.ok(one.hss.held.has(IMSI), 'its lease goes on'))
    home.isReachable = true
    await eventually(() => assert.is(counted(), 100))
    // Granted again, the visit goes on: nothing of it counts twice.
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    one.usage.seen.set(hash, { upBytes: 61, downBytes: 40 })
    await eventually(() => assert.is(counted(), 101))
    // Ended by the home: told to the end, then forgotten.
    await home.ask('PUT', `/v1/sims/${hash}/reach`, { reach: 'home' })
    await eventually(() => assert.not.ok(one.hss.held.has(IMSI)))
    one.usage.seen.set(hash, { upBytes: 62, downBytes: 40 })
    await eventually(() => assert.is(counted(), 102))
  },
  { lease: '5s' },
)

scene(
  'a box that is cut off blocks a SIM at its share of the quota, and lets it on when there is more',
  async ({ boxes }) => {
    const [home, one] = boxes
    if (home === undefined || one === undefined) throw new Error('two boxes')
    const hash = imsiHash(IMSI)
    home.usage.quotas.set(hash, 1_000)
    await simAt(home, IMSI)
    await permit(home, one)
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    home.isReachable = false
    one.usage.seen.set(hash, { upBytes: 250, downBytes: 250 })
    await eventually(() => assert.is(one.hss.held.get(IMSI)?.isBlocked, true))
    home.isReachable = true
    // 500 are left: its share is 250 more.
    await eventually(() => assert.is(one.hss.held.get(IMSI)?.isBlocked, false))
    one.usage.seen.set(hash, { upBytes: 500, downBytes: 250 })
    await eventually(() => assert.is(one.hss.held.get(IMSI)?.isBlocked, true))
  },
)

scene(
  'a phone that comes to a permitted box gets on at its second attempt, and nowhere else',
  async ({ boxes }) => {
    const [home, one, two] = boxes
    if (home === undefined || one === undefined || two === undefined) throw new Error('three boxes')
    await simAt(home, IMSI, { reach: 'on_demand' })
    await permit(home, one)
    // The cores have refused it, and remember it.
    one.strangers.add(IMSI)
    two.strangers.add(IMSI)
    const begun = performance.now()
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    process.stdout.write(`\n# on demand after ${Math.round(performance.now() - begun)} ms\n`)
    assert.is(one.attach(IMSI, new Card(KEYS)), 'takes')
    assert.not.ok(two.hss.held.has(IMSI), 'a box that was not permitted has it')
    const calls = (await home.bed.audit()).filter(({ action }) => action === 'roaming.call')
    assert.equal(
      calls.map(({ target }) => target),
      [one.id],
    )
  },
)

scene('nothing is kept of a SIM that its home has erased, at either box', async ({ boxes }) => {
  const [home, one, two] = boxes
  if (home === undefined || one === undefined || two === undefined) throw new Error('three boxes')
  const hash = await simAt(home, IMSI)
  for (const box of [one, two]) await permit(home, box)
  for (const box of [one, two]) await eventually(() => assert.ok(box.hss.held.has(IMSI)))
  assert.is(one.attach(IMSI, new Card(KEYS)), 'takes')
  one.usage.seen.set(hash, { upBytes: 10, downBytes: 20 })
  await eventually(() => assert.ok(tablesWith(home, hash).includes('roaming_count')))
  assert.ok(tablesWith(one, hash).includes('roaming_mark'))
  // One of them hears of it later.
  two.isReachable = false
  await home.erase(hash)
  await eventually(() => assert.equal(tablesWith(one, hash), []))
  assert.not.ok(one.hss.held.has(IMSI))
  assert.not.ok(one.core.attached.has(IMSI), 'its session goes on')
  await eventually(() => assert.equal(tablesWith(home, hash), ['roaming_lease'], 'a box is still to hear'))
  two.isReachable = true
  await eventually(() => assert.equal(tablesWith(two, hash), []))
  await eventually(() => assert.equal(tablesWith(home, hash), []))
})

scene(
  'both boxes know who has served, and a lease on demand goes when its phone has gone',
  async ({ boxes }) => {
    const [home, one] = boxes
    if (home === undefined || one === undefined) throw new Error('two boxes')
    const hash = await simAt(home, IMSI, { reach: 'on_demand' })
    await permit(home, one)
    one.strangers.add(IMSI)
    await eventually(() => assert.ok(one.hss.held.has(IMSI)))
    one.strangers.delete(IMSI)
    const cameMs = one.clock.nowMs()
    assert.is(one.attach(IMSI, new Card(KEYS)), 'takes')
    // Longer than an idle lease is held: its phone is there.
    await eventually(() => assert.ok(one.clock.nowMs() - cameMs > 160_000))
    assert.ok(one.hss.held.has(IMSI), 'a lease in use has gone')
    const goneMs = one.clock.nowMs()
    one.core.attached.delete(IMSI)
    await eventually(() => assert.not.ok(one.hss.held.has(IMSI)))
    const stays = async (box: typeof home) =>
      (await box.bed
        .service(visitorsRef)
        ?.stays({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, undefined, 9)) ?? []
    for (const box of [home, one]) {
      const [stay, ...others] = await stays(box)
      assert.equal(others, [], box.name)
      assert.is(stay?.imsi, hash)
      assert.is(stay?.isOver, true)
      assert.is(stay?.servedBy.nodeId, one.id)
      assert.is(stay?.home.nodeId, home.id)
      // Two clocks, and a look each few seconds.
      assert.ok(Math.abs((stay?.beganAtMs ?? 0) - cameMs) < 30_000, `began ${stay?.beganAtMs}, not ${cameMs}`)
      assert.ok(Math.abs((stay?.seenAtMs ?? 0) - goneMs) < 30_000, `seen ${stay?.seenAtMs}, not ${goneMs}`)
    }
  },
  { lease: '90s' },
)

scene('a SIM is issued with a reach, and what replaces it works where it did', async ({ boxes }) => {
  const [home, one, two] = boxes
  if (home === undefined || one === undefined || two === undefined) throw new Error('three boxes')
  for (const box of [one, two]) await permit(home, box)
  type Issued = { readonly sims: readonly { readonly imsi_sha256_12: string }[] }
  const issue = async (body: object): Promise<string> =>
    (await home.ask<Issued>('POST', '/v1/sims', body, 201)).sims[0]?.imsi_sha256_12 ?? ''
  const visitorsOf = async (box: typeof home): Promise<readonly string[]> =>
    (
      await box.ask<{ visitors: { imsi_sha256_12: string; state: string }[] }>('GET', '/v1/roaming/visitors')
    ).visitors
      .filter(({ state }) => state === 'open')
      .map(({ imsi_sha256_12: hash }) => hash)
  const everywhere = await issue({ reach: 'mesh' })
  const there = await issue({ reach: 'boxes', boxes: [two.id] })
  await issue({})
  await eventually(async () => assert.equal(await visitorsOf(one), [everywhere]))
  await eventually(async () =>
    assert.equal((await visitorsOf(two)).toSorted(), [everywhere, there].toSorted()),
  )
  const after = await issue({ replaces: there })
  await eventually(async () =>
    assert.equal((await visitorsOf(two)).toSorted(), [everywhere, after].toSorted()),
  )
  assert.equal(await visitorsOf(one), [everywhere])
  for (const body of [{ reach: 'boxes' }, { boxes: [two.id] }, { reach: 'mesh', boxes: [two.id] }])
    await home.ask('POST', '/v1/sims', body, 400)
})

leases.run()
