import { type Imsi, isServiceError } from '@steeple/contracts'
import { docsOf } from '@steeple/lab-core'
import { assert, patient, suite } from '@steeple/testkit'
import { dbctlDriver } from '../../src/dbctl/dbctl-driver.ts'
import { dbctlTool } from '../../src/dbctl/tool.ts'
import { makeDbctl, withStock } from '../support/dbctl-tool.ts'
import { subscriber } from '../support/subscribers.ts'

const dbctl = suite('driver-hss/dbctl')

dbctl('adds a subscriber with its APNs and its AMBR', async () => {
  await withStock(async (driver, tool) => {
    const one = subscriber(1)
    assert.equal([...(await driver.upsert([one], patient())).values()], [undefined])
    const [doc] = await tool.docs()
    const rate = (value: number) => ({ value, unit: 0 })
    assert.equal(doc?.ambr, { downlink: rate(100_000_000), uplink: rate(50_000_000) })
    assert.equal((await driver.observe([one.imsi], patient())).get(one.imsi), {
      imsi: one.imsi,
      apns: ['internet', 'ims'],
      ambrBps: one.ambrBps,
      isBlocked: false,
    })
  })
})

dbctl('blocks with the stock tool by removing, remembers it, and puts back with the next push', async () => {
  await withStock(async (driver, tool) => {
    const one = subscriber(1)
    await driver.upsert([one], patient())
    assert.equal([...(await driver.setBlocked([one.imsi], true, patient())).values()], [undefined])
    assert.equal(await tool.docs(), [])
    assert.is((await driver.observe([one.imsi], patient())).get(one.imsi)?.isBlocked, true)
    const [problem] = (await driver.setBlocked([one.imsi], false, patient())).values()
    assert.ok(problem !== undefined && isServiceError(problem) && problem.code === 'not_found')
    await driver.upsert([one], patient())
    assert.is((await driver.observe([one.imsi], patient())).get(one.imsi)?.isBlocked, false)
  })
})

dbctl('cancels a location with a tool that can, and says that the stock one cannot', async () => {
  const one = subscriber(1)
  await withStock(async (driver) => {
    const [problem] = (await driver.cancelLocation?.([one.imsi], patient()))?.values() ?? []
    assert.match(String(problem?.message), /there is no command cancel_location/)
  })
  const tool = await makeDbctl('extras')
  const driver = dbctlDriver({ path: tool.path, url: '', documents: undefined })
  await driver.upsert([one], patient())
  const stranger = subscriber(2).imsi
  const result = await driver.cancelLocation?.([one.imsi, stranger], patient())
  assert.is(result?.get(one.imsi), undefined)
  const problem = result?.get(stranger)
  assert.ok(isServiceError(problem) && problem.code === 'not_found')
  const [doc] = await tool.docs()
  assert.is(doc?.request_cancel_location, true)
  await tool.remove()
})

dbctl('adds an APN that is missing and says that it cannot take one away', async () => {
  await withStock(async (driver) => {
    await driver.upsert([subscriber(1, { apns: ['internet'] })], patient())
    await driver.upsert([subscriber(1)], patient())
    const { imsi } = subscriber(1)
    assert.equal((await driver.observe([imsi], patient())).get(imsi)?.apns, ['internet', 'ims'])
    const [problem] = (await driver.upsert([subscriber(1, { apns: ['ims'] })], patient())).values()
    assert.match(String(problem?.message), /cannot take APNs away/)
  })
})

dbctl('does not add anybody twice whom the listing of 20 does not show', async () => {
  await withStock(async (driver, tool) => {
    const many = Array.from({ length: 22 }, (_none, index) => subscriber(index, { apns: ['internet'] }))
    await driver.upsert(many.slice(0, 1), patient())
    const [doc] = await tool.store.list()
    for (const { imsi } of many.slice(1)) await tool.store.insert(imsi, { ...doc, imsi })
    const fresh = dbctlDriver({ path: tool.path, url: '', documents: undefined })
    await fresh.upsert(many.slice(20), patient())
    assert.is((await tool.docs()).length, 22)
    assert.is(
      (
        await fresh.observe(
          many.map(({ imsi }) => imsi),
          patient(),
        )
      ).size,
      22,
    )
    assert.match((await fresh.probe(patient())).detail, /20 subscribers only/)
  })
})

dbctl('does what it can in its time and leaves the rest for the next call', async () => {
  const tool = await makeDbctl('stock')
  const driver = dbctlDriver({ path: tool.path, url: '', documents: undefined, budgetMs: 1 })
  const many = [subscriber(1), subscriber(2), subscriber(3)]
  const first = [...(await driver.upsert(many, patient())).values()]
  assert.is(first[0], undefined)
  assert.match(String(first[2]?.message), /not reached yet/)
  assert.is((await tool.docs()).length, 1)
  await tool.remove()
})

dbctl('says where to look when there is no tool', async () => {
  const driver = dbctlDriver({ path: '/nowhere/open5gs-dbctl', url: '', documents: undefined })
  const error = await driver.probe(patient()).then(
    () => undefined,
    (reason: Error) => reason,
  )
  assert.match(String(error?.message), /ENOENT.*hss\.dbctl_path/)
})

/** Of the stock tool, shortened. */
const HELP = { output: '   add_ue_with_apn {imsi key opc apn}: adds\n', errors: 'COMMANDS:\n', code: 1 }

dbctl('gives the tool no argument that a script could read as its own', async () => {
  const seen: (readonly string[])[] = []
  const tool = dbctlTool('x', '', async (args) => {
    if (args[0] === 'help') return HELP
    seen.push(args)
    return { output: '{ acknowledged: true, deletedCount: 0, matchedCount: 1 }', errors: '', code: 0 }
  })
  const evil = ['1"}); db.dropDatabase(); ({"a":"', '-x', '$(id)', '123456789012345\n', '']
  for (const text of evil) {
    const imsi = text as Imsi // no IMSI: the tool must refuse it
    for (const call of [
      () => tool.remove(imsi, patient()),
      () => tool.addApn(subscriber(1).imsi, text, patient()),
      () => tool.setAmbr(subscriber(1, { imsi }), patient()),
    ]) {
      const error = await call().then(
        () => undefined,
        (reason: unknown) => reason as Error & { code?: string },
      )
      assert.is(error?.code, 'validation_failed')
    }
  }
  const url = dbctlTool('x', "mongodb://h/x';id", async () => HELP)
  await url.list(patient()).then(
    () => assert.unreachable(),
    (error: Error & { code?: string }) => assert.is(error.code, 'validation_failed'),
  )
  assert.equal(seen, [])
})

dbctl('names the database to the tool', async () => {
  const seen: (readonly string[])[] = []
  const run = async (args: readonly string[]) => {
    if (args[0] === 'help') return HELP
    seen.push(args)
    return { output: '\n', errors: '', code: 0 }
  }
  for (const url of ['mongodb://h:1', 'mongodb://h/', 'mongodb://h/other', 'mongodb://h/?replicaSet=r']) {
    await dbctlTool('x', url, run).list(patient())
  }
  assert.equal(
    seen.map(([flag]) => flag),
    [
      '--db_uri=mongodb://h:1/open5gs',
      '--db_uri=mongodb://h/open5gs',
      '--db_uri=mongodb://h/other',
      '--db_uri=mongodb://h/open5gs?replicaSet=r',
    ],
  )
})

dbctl('leaves a blocked subscriber blocked whose APNs it cannot mend', async () => {
  const tool = await makeDbctl('extras')
  const driver = dbctlDriver({ path: tool.path, url: '', documents: undefined })
  const one = { ...subscriber(1), isBlocked: true }
  await driver.upsert([one], patient())
  await tool.store.update(one.imsi, (doc) => {
    const [slice = {}] = docsOf(doc.suspended_slice)
    const session = docsOf(slice.session)
    const more = [...session, { ...session[0], name: 'by-hand' }]
    return { ...doc, suspended_slice: [{ ...slice, session: more }] }
  })
  const [problem] = (await driver.upsert([one], patient())).values()
  assert.match(String(problem?.message), /cannot take APNs away/)
  assert.equal((await tool.docs())[0]?.slice, [])
  assert.is((await driver.observe([one.imsi], patient())).get(one.imsi)?.isBlocked, true)
  await tool.remove()
})

dbctl.run()
