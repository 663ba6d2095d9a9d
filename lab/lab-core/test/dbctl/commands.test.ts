import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { runDbctl } from '../../src/dbctl/commands.ts'
import type { Doc } from '../../src/store/ejson.ts'
import { docOf, docsOf, int32, int32Of, int64 } from '../../src/store/ejson.ts'
import { openJournal } from '../../src/store/journal.ts'
import { type Change, type Subscribers, subscribersIn } from '../../src/store/subscribers.ts'
import { RECORDED, recorded } from '../support/lab.ts'

const commands = suite('lab-core/dbctl/commands')
const { imsi, ki, opc } = RECORDED

interface World {
  readonly subscribers: Subscribers
  readonly changes: Change[]
  run(...words: readonly string[]): Promise<{ readonly code: number; readonly output: string }>
  doc(): Doc
}

async function withStore(work: (world: World) => Promise<void>): Promise<void> {
  await using dir = await tempDir()
  const journal = await openJournal<Doc>(join(dir.path, 's'))
  const subscribers = subscribersIn(journal)
  const changes: Change[] = []
  subscribers.watch((change) => changes.push(change))
  const draw = () => '6b00336d94c05ec68f531651'
  const run: World['run'] = (...words) => runDbctl(words, { subscribers, draw })
  await work({ subscribers, changes, run, doc: () => subscribers.find(imsi) ?? {} })
  await journal.close()
}

const sessions = (doc: Doc): readonly Doc[] => docsOf(docsOf(doc.slice)[0]?.session)

commands('prints what the real tool printed for an add, and refuses a second', async () => {
  await withStore(async ({ run }) => {
    const { code, output } = await run('add', imsi, ki, opc)
    assert.is(code, 0)
    // The recording has the time that the run took after it.
    assert.ok(recorded('dbctl-add.stdout.txt').startsWith(output))
    assert.match((await run('add', imsi, ki, opc)).output, /^MongoServerError: E11000 duplicate key/)
  })
})

commands('answers 0 whether it found somebody or not, and says so in its output', async () => {
  await withStore(async ({ run }) => {
    for (const words of [
      ['remove', imsi],
      ['ambr_speed', imsi, '1', '0', '1', '0'],
      ['update_apn', imsi, 'ims', '0'],
      ['static_ip', imsi, '10.45.0.9'],
      ['block', imsi],
      ['unblock', imsi],
      ['set_sqn', imsi, '32'],
      ['cancel_location', imsi],
    ]) {
      const { code, output } = await run(...words)
      assert.is(code, 0, words[0])
      assert.match(output, /(matched|deleted)Count: 0\b/, words[0])
    }
    await run('add', imsi, ki, opc)
    assert.match((await run('remove', imsi)).output, /^\{ acknowledged: true, deletedCount: 1 \}\n$/)
  })
})

commands('writes integers as Int32 and the SQN as Int64', async () => {
  await withStore(async ({ run, doc }) => {
    await run('add_ue_with_apn', imsi, ki, opc, 'internet')
    await run('update_apn', imsi, 'ims', '0')
    await run('ambr_speed', imsi, '100', '2', '50000', '1')
    await run('set_sqn', imsi, '4294967328')
    await run('type', imsi, '1')
    await run('static_ip', imsi, '10.45.7.7')
    await run('subscriber_status', imsi, '1', '8')
    const rate = (value: number, unit: number) => ({ value: int32(value), unit: int32(unit) })
    assert.equal(doc().ambr, { downlink: rate(100, 2), uplink: rate(50_000, 1) })
    assert.equal(sessions(doc())[0]?.ambr, doc().ambr)
    assert.equal(sessions(doc())[1]?.ambr, { uplink: rate(1, 3), downlink: rate(1, 3) })
    assert.equal(
      sessions(doc()).map(({ name }) => name),
      ['internet', 'ims'],
    )
    assert.is(int32Of(sessions(doc())[0]?.type), 1)
    assert.equal(docOf(doc().security)?.sqn, int64(4294967328n))
    await run('set_sqn', imsi, '1')
    assert.equal(docOf(doc().security)?.sqn, int64(4294967328n), 'a SQN is never written again')
    assert.equal(doc().operator_determined_barring, int32(8))
  })
})

commands('blocks in one update that the HSS hears of, each time, and puts back what was there', async () => {
  await withStore(async ({ run, doc, changes }) => {
    await run('add', imsi, ki, opc)
    const before = doc()
    for (let time = 0; time < 2; time += 1) {
      changes.length = 0
      assert.match((await run('block', imsi)).output, /matchedCount: 1/)
      assert.equal(doc().slice, [])
      assert.equal(doc().suspended_slice, before.slice)
      assert.is(changes.filter(({ updated }) => updated.has('request_cancel_location')).length, 1)
    }
    await run('unblock', imsi)
    assert.equal(doc(), before)
    assert.match((await run('unblock', imsi)).output, /matchedCount: 1,\n {2}modifiedCount: 0/)
  })
})

commands('tells of each change which fields it changed, and of a removal nothing', async () => {
  await withStore(async ({ run, changes }) => {
    await run('add', imsi, ki, opc)
    await run('ambr_speed', imsi, '1', '2', '1', '2')
    await run('ambr_speed', imsi, '1', '2', '1', '2')
    await run('cancel_location', imsi)
    await run('remove', imsi)
    assert.equal(
      changes.map(({ updated, doc }) => [[...updated].sort().join(), doc !== undefined]),
      [
        ['', true],
        ['ambr,slice', true],
        ['request_cancel_location', true],
        ['', false],
      ],
    )
  })
})

commands('shows 20, or one without its keys', async () => {
  await withStore(async ({ run }) => {
    assert.is((await run('showpretty')).output, '\n')
    for (let i = 10; i < 31; i += 1) await run('add', `9997000000000${i}`, ki, opc)
    const { output } = await run('showpretty')
    assert.is(output.match(/ imsi: /g)?.length, 20)
    assert.match(output, /\nType "it" for more\n$/)
    const one = (await run('show', '999700000000030')).output
    assert.match(one, /imsi: '999700000000030'/)
    assert.not.match(one, new RegExp(`${ki}|${opc}`))
    assert.is((await run('show', imsi)).output, '\n')
    assert.match((await run('reset')).output, /deletedCount: 21/)
  })
})

commands('refuses what it does not know, what is too much or too little, and what is no number', async () => {
  await withStore(async ({ run, subscribers }) => {
    for (const words of [[], ['help'], ['nonsense'], ['__proto__'], ['constructor']]) {
      const { code, output } = await run(...words)
      assert.is(code, 1)
      assert.match(output, /^open5gs-dbctl: Open5GS Database Configuration Tool/)
    }
    assert.match((await run('remove')).output, /incorrect number of args/)
    assert.match((await run('add', imsi, ki)).output, /incorrect number of args/)
    await run('add', imsi, ki, opc)
    for (const number of ['3000000000', '1.5', '1e3', ''])
      assert.is((await run('ambr_speed', imsi, number, '0', '1', '0')).code, 1)
    assert.is((await run('add', '"}); db.dropDatabase()', ki, opc)).code, 1)
    assert.is(subscribers.list().length, 1)
  })
})

commands.run()
