import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { runDbctl } from '../../src/dbctl/commands.ts'
import type { LabCore } from '../../src/lab-core.ts'
import type { NamedPhone } from '../../src/phones/fleet.ts'
import { type Doc, docOf, docsOf, int32, int64, int64Of } from '../../src/store/ejson.ts'
import { FAST, QUICK, RECORDED, startLab } from '../support/lab.ts'

const phones = suite('lab-core/phones')
const { imsi, ki, opc } = RECORDED

async function dbctl(lab: LabCore, ...words: readonly string[]): Promise<void> {
  const draw = () => '6b00336d94c05ec68f531651'
  const { code } = await runDbctl(words, { subscribers: lab.subscribers, draw })
  assert.is(code, 0)
}

/** A phone with the recorded card, switched on. */
async function switchedOn(lab: LabCore, card = RECORDED): Promise<NamedPhone> {
  const [named] = await lab.fleet.insert([card])
  if (named === undefined) throw new Error('no phone')
  named.phone.powerOn()
  return named
}

async function comesTo(named: NamedPhone, state: string): Promise<void> {
  await eventually(() => assert.is(named.phone.state, state, named.phone.problem))
}

const seen = (lab: LabCore) => lab.mme.contexts().find((context) => context.imsi === imsi)

phones('attaches, moves data, goes idle, comes back, detaches, and stays in the list', async () => {
  await using lab = await startLab()
  await dbctl(lab, 'add', imsi, ki, opc)
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  assert.ok(await lab.traffic.move(named, { up: 100, down: 2_000 }, FAST))
  named.phone.goIdle()
  assert.is(seen(lab)?.isConnected, false)
  assert.ok(await lab.traffic.move(named, { up: 28, down: 29 }, FAST), 'data bring it back')
  assert.is(named.phone.state, 'connected')
  const { upBytes, downBytes, lease } = lab.fleet.session(named) ?? {}
  assert.equal([upBytes, downBytes, lease?.ipv4], [128, 2_029, '10.45.0.2'])
  named.phone.detach()
  assert.is(seen(lab)?.state, 'deregistered')
  assert.not.ok(await lab.traffic.move(named, { up: 28, down: 28 }, FAST))
  assert.equal(lab.sessions.list(), [])
})

phones('has its HSS end at documents at which the real one does, and start again', async () => {
  await using place = await tempDir('steeple-lab-')
  await using lab = await startLab({ directory: place.path })
  const logs = async () =>
    (
      await Promise.all(
        ['hss', 'mme'].map((name) => readFile(join(place.path, 'log', `${name}.log`), 'utf8')),
      )
    ).join()
  await dbctl(lab, 'add', imsi, ki, opc)
  const sessionsOf = async (change: (sessions: readonly Doc[]) => readonly Doc[]): Promise<void> => {
    await lab.subscribers.update(imsi, (doc) => ({
      ...doc,
      slice: docsOf(doc.slice).map((slice) => ({ ...slice, session: change(docsOf(slice.session)) })),
    }))
  }
  const [usual] = docsOf(docsOf(lab.subscribers.find(imsi)?.slice)[0]?.session)
  const bad: readonly (readonly [RegExp, readonly Doc[]])[] = [
    [/FATAL: .*OGS_MAX_NUM_OF_SESS/, ['a', 'b', 'c', 'd', 'e'].map((name) => ({ ...usual, name }))],
    [/FATAL: .*session->name/, [{ ...usual, name: int32(1) }]],
    // No type: the MME takes none of its APNs.
    [/Invalid PDN_TYPE\[0\]/, [{ ...usual, type: 'both' }]],
  ]
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  for (const [told, sessions] of bad) {
    await sessionsOf(() => sessions)
    named.phone.detach()
    named.phone.attach()
    await eventually(async () => assert.match(await logs(), told))
    await sessionsOf(() => (usual === undefined ? [] : [usual]))
    await eventually(() => {
      if (named.phone.state === 'barred') named.phone.powerOff()
      if (named.phone.state === 'off') named.phone.powerOn()
      assert.is(named.phone.state, 'connected')
    })
  }
})

phones('counts the SQN of the document on by 32 for each authentication, in 48 bits', async () => {
  await using lab = await startLab()
  await dbctl(lab, 'add', imsi, ki, opc)
  await dbctl(lab, 'set_sqn', imsi, '32')
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  const sqn = () => docOf(lab.subscribers.find(imsi)?.security)?.sqn
  assert.equal(sqn(), int64(64n))
  await lab.subscribers.update(imsi, (doc) => ({
    ...doc,
    security: { ...docOf(doc.security), sqn: int64((1n << 48n) - 32n) },
  }))
  named.phone.detach()
  named.phone.attach()
  // Too far ahead for the card: it says what it holds, and the count goes on from there.
  await comesTo(named, 'connected')
  assert.equal(sqn(), int64(32n + 33n + 32n))
})

phones('is refused for good by a wrong key (20) and by an unknown IMSI (8)', async () => {
  await using lab = await startLab()
  await dbctl(lab, 'add', imsi, '00'.repeat(16), opc)
  const wrong = await switchedOn(lab)
  await comesTo(wrong, 'barred')
  assert.match(String(wrong.phone.problem), /EMM cause 20.*authentication rejected/)
  assert.is(seen(lab)?.state, 'exception')
  const unknown = await switchedOn(lab, { ...RECORDED, imsi: '999700000000001' })
  await comesTo(unknown, 'barred')
  assert.match(String(unknown.phone.problem), /EMM cause 8/)
  await dbctl(lab, 'add', '999700000000001', ki, opc)
  unknown.phone.attach()
  assert.is(unknown.phone.state, 'barred', 'only switching it off and on helps')
  unknown.phone.powerOff()
  unknown.phone.powerOn()
  await comesTo(unknown, 'connected')
})

phones('is kicked by a block, hears nothing while it lasts, and comes back by itself after it', async () => {
  await using lab = await startLab({ timers: QUICK })
  await dbctl(lab, 'add', imsi, ki, opc)
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  await dbctl(lab, 'block', imsi)
  await eventually(() => assert.is(lab.sessions.list().length, 0))
  await eventually(() => assert.is(seen(lab)?.state, 'initial_context_setup'))
  await eventually(() => assert.match(String(named.phone.problem), /did not answer/))
  assert.not.ok(named.phone.isAttached)
  await dbctl(lab, 'unblock', imsi)
  await comesTo(named, 'connected')
})

phones('comes back at once from a kick without a block, from idle too', async () => {
  await using lab = await startLab()
  await dbctl(lab, 'add', imsi, ki, opc)
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  for (const isIdle of [false, true]) {
    if (isIdle) named.phone.goIdle()
    const { created } = lab.sessions
    await dbctl(lab, 'cancel_location', imsi)
    await eventually(() => assert.is(lab.sessions.created, created + 1))
    await comesTo(named, 'connected')
  }
})

phones('stays on when its document is deleted, and is lost at its next attach', async () => {
  await using lab = await startLab()
  await dbctl(lab, 'add', imsi, ki, opc)
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  await dbctl(lab, 'remove', imsi)
  // Well after the HSS has looked at its change stream.
  await dbctl(lab, 'add', '999700000000009', ki, opc)
  const other = await switchedOn(lab, { ...RECORDED, imsi: '999700000000009' })
  await comesTo(other, 'connected')
  await dbctl(lab, 'cancel_location', '999700000000009')
  await eventually(() => assert.is(lab.sessions.created, 3))
  assert.is(named.phone.state, 'connected')
  named.phone.detach()
  named.phone.attach()
  await comesTo(named, 'barred')
})

phones('shows a changed AMBR at once', async () => {
  await using lab = await startLab()
  await dbctl(lab, 'add', imsi, ki, opc)
  await comesTo(await switchedOn(lab), 'connected')
  await dbctl(lab, 'ambr_speed', imsi, '5', '3', '2', '2')
  await eventually(() => assert.equal(seen(lab)?.ambr, { downlink: 0xffff_ffff, uplink: 2_000_000 }))
  assert.is(lab.sessions.list().length, 1)
})

phones('reads documents as strictly as the core does', async () => {
  await using lab = await startLab({ timers: QUICK })
  await dbctl(lab, 'add', imsi, ki, opc)
  const double = { $numberDouble: '1' }
  await lab.subscribers.update(imsi, (doc) => ({ ...doc, ambr: { downlink: { value: double } } }))
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  assert.equal(seen(lab)?.ambr, { downlink: 0, uplink: 0 })
  await lab.subscribers.update(imsi, (doc) => ({ ...doc, slice: [{ sst: double, session: [] }] }))
  named.phone.detach()
  named.phone.attach()
  await eventually(() => assert.match(String(named.phone.problem), /did not answer/))
  const sqn = { $numberInt: '1' }
  await lab.subscribers.update(imsi, (doc) => ({
    ...doc,
    slice: [{ sst: int32(1), session: [] }],
    security: { ...docOf(doc.security), sqn },
  }))
  named.phone.attach()
  await comesTo(named, 'barred')
})

phones('keeps cards, power and SQNs over a restart, and comes back by itself', async () => {
  await using dir = await tempDir()
  const sqnIn = (lab: LabCore) => int64Of(docOf(lab.subscribers.find(imsi)?.security)?.sqn) ?? 0n
  let sqn = 0n
  {
    await using lab = await startLab({ directory: dir.path })
    await dbctl(lab, 'add', imsi, ki, opc)
    await comesTo(await switchedOn(lab), 'connected')
    await lab.fleet.insert([{ ...RECORDED, imsi: '999700000000002' }])
    sqn = sqnIn(lab)
  }
  await using lab = await startLab({ directory: dir.path })
  const [first, second] = lab.fleet.all()
  await eventually(() => assert.is(first?.phone.state, 'connected'))
  assert.is(second?.phone.state, 'off')
  assert.is(sqnIn(lab) - sqn, 32n, 'one authentication: its card knew the SQN still')
})

phones('keeps a phone that cannot be reached in the list, registered and without a session', async () => {
  await using lab = await startLab()
  await dbctl(lab, 'add', imsi, ki, opc)
  await comesTo(await switchedOn(lab), 'connected')
  lab.mme.setRadio(false)
  await dbctl(lab, 'block', imsi)
  await eventually(() => assert.is(lab.sessions.list().length, 0))
  await eventually(() => assert.equal([seen(lab)?.state, seen(lab)?.session], ['registered', undefined]))
})

phones('loses the network with the radio and finds it again', async () => {
  await using lab = await startLab({ timers: QUICK })
  await dbctl(lab, 'add', imsi, ki, opc)
  const named = await switchedOn(lab)
  await comesTo(named, 'connected')
  lab.mme.setRadio(false)
  assert.not.ok(await lab.traffic.move(named, { up: 28, down: 28 }, FAST))
  await eventually(() => assert.match(String(named.phone.problem), /did not answer/))
  lab.mme.setRadio(true)
  await comesTo(named, 'connected')
})

phones('are a thousand', async () => {
  await using lab = await startLab({ timers: { ...QUICK, t3410Ms: 15_000 } })
  const cards = Array.from({ length: 1_000 }, (_none, i) => ({
    ...RECORDED,
    imsi: `9997000000${10_000 + i}`,
  }))
  await Promise.all(cards.map((card) => dbctl(lab, 'add', card.imsi, ki, opc)))
  const begun = performance.now()
  for (const { phone } of await lab.fleet.insert(cards)) phone.powerOn()
  await eventually(() => assert.is(lab.sessions.list().length, 1_000))
  process.stdout.write(`# 1000 phones attached after ${Math.round(performance.now() - begun)} ms\n`)
  const addresses = new Set(lab.sessions.list().map(({ lease }) => lease.ipv4))
  assert.is(addresses.size, 1_000)
  let [count, path] = [0, '/ue-info?page=0']
  while (path !== '') {
    const page = (await (await fetch(lab.urls.mme + path)).json()) as {
      items: readonly unknown[]
      pager: { next?: string }
    }
    count += page.items.length
    path = page.pager.next ?? ''
  }
  assert.is(count, 1_000)
})

phones.run()
