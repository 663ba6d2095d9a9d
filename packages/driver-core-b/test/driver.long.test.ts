import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { subscribersRef } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { assert, failureOf, suite } from '@steeple/testkit'
import { parse } from 'yaml'
import { attach, imsiOf, patient, refOf } from './support/clients.ts'
import { desiredOf, desiredWith } from './support/desired.ts'
import { ownAddresses } from './support/real-functions.ts'
import { comeUp } from './support/stand-in-core.ts'
import { makeWorld, type World } from './support/world.ts'

const driver = suite('driver-core-b/driver')

async function inWorld(
  work: (world: World) => Promise<void>,
  more: Parameters<typeof makeWorld>[0] = {},
): Promise<void> {
  await using world = await makeWorld(more)
  await work(world)
}

driver('restarts everybody in order at first, and then only whom a change concerns', () =>
  inWorld(async ({ b, engine, dir }) => {
    await b.driver.apply(await b.driver.render(desiredWith()), patient())
    assert.equal(
      engine.restarted,
      ['nrf', 'udr', 'udm', 'ausf', 'nssf', 'pcf', 'chf', 'upf', 'smf', 'amf'].map((nf) => `c-${nf}`),
    )
    engine.restarted.length = 0
    await b.driver.apply(await b.driver.render(desiredWith({ tac: 9 })), patient())
    // The sessions of an AMF that has forgotten its phones would stay at the SMF.
    assert.equal(engine.restarted, ['c-nssf', 'c-smf', 'c-amf'])
    const amf = parse(await readFile(join(dir, 'amfcfg.yaml'), 'utf8'))
    assert.is(amf.configuration.supportTaiList[0].tac, '000009')
    engine.restarted.length = 0
    await b.driver.apply(await b.driver.render(desiredWith({ tac: 9, apns: ['internet'] })), patient())
    assert.equal(engine.restarted, ['c-upf', 'c-smf', 'c-amf'])
    engine.restarted.length = 0
    await b.driver.apply(
      await b.driver.render(desiredWith({ tac: 9, apns: ['internet'], plmn: { mcc: '001', mnc: '01' } })),
      patient(),
    )
    // The UPF knows neither PLMN nor NRF.
    assert.equal(
      engine.restarted,
      ['nrf', 'udr', 'udm', 'ausf', 'nssf', 'pcf', 'chf', 'smf', 'amf'].map((nf) => `c-${nf}`),
    )
  }),
)

driver('tells what a change would do and whom it would drop, and changes nothing', () =>
  inWorld(async ({ b, core, fake, text }) => {
    attach(core, imsiOf(1), 1)
    attach(core, imsiOf(2))
    const wanted = () => b.driver.render(desiredOf(fake.context.settings))
    await b.driver.apply(await wanted(), patient())
    const before = await text()
    assert.is((await b.files.driver.plan(await wanted(), patient())).state, 'in_sync')
    const settings = fake.context.settings
    fake.changeSettings({ ...settings, tac: 12 })
    const plan = await b.files.driver.plan(await wanted(), patient())
    assert.equal(
      plan.files.filter(({ change }) => change !== 'same').map(({ path, daemon }) => [path, daemon]),
      [
        ['amfcfg.yaml', 'amf'],
        ['nssfcfg.yaml', 'nssf'],
      ],
    )
    assert.is(plan.dropped, 2)
    const restarting = plan.daemons.filter(({ action }) => action === 'restart')
    assert.equal(
      restarting.map(({ name, drops }) => [name, drops]),
      [
        ['nssf', 'none'],
        ['smf', 'nr'],
        ['amf', 'nr'],
      ],
    )
    assert.match(restarting[1]?.reason ?? '', /^amf restarts/)
    assert.is(await text(), before)
  }),
)

driver('puts the last good files back when a function does not come back', () =>
  inWorld(async ({ b, core, dir }) => {
    await b.driver.apply(await b.driver.render(desiredWith()), patient())
    const before = await readFile(join(dir, 'amfcfg.yaml'), 'utf8')
    await core.stop('amf')
    const error = await failureOf(b.driver.apply(await b.driver.render(desiredWith({ tac: 9 })), patient()))
    assert.match(
      error.message,
      /amf does not get well with its new configuration: the AMF at .* nobody listens there/,
    )
    assert.is(await readFile(join(dir, 'amfcfg.yaml'), 'utf8'), before)
  }),
)

driver('asks the core where it is after a refused change, not where it should have been', async () => {
  const { chf } = ownAddresses()
  const server = createServer((_request, response) => response.end())
  server.listen(8000, chf)
  const world = await makeWorld({ addresses: { chf } })
  try {
    const { b, engine, fake } = world
    const render = async () => await b.driver.render(desiredOf(fake.context.settings))
    const stateOfChf = async () => (await b.driver.observe(patient())).services.get('chf')
    await b.driver.apply(await render(), patient())
    assert.is(await stateOfChf(), 'up')
    const { settings } = fake.context
    fake.changeSettings({ ...settings, core_b: { ...settings.core_b, addresses: { chf: '127.9.9.9' } } })
    engine.refuseNext('no such address')
    const error = await failureOf(b.driver.apply(await render(), patient()))
    assert.is(error.code, 'core_config_refused', error.message)
    await stateOfChf()
    assert.is(await stateOfChf(), 'up')
  } finally {
    server.closeAllConnections()
    server.close()
    await world.close()
  }
})

driver('keeps the files to their owner, since they can hold the password of the database', () =>
  inWorld(async ({ b, dir, fake }) => {
    fake.changeSettings({
      ...fake.context.settings,
      hss: { mongo_url: 'mongodb://core:w0rd-of-mouth@db/free5gc' },
    })
    await b.driver.apply(await b.driver.render(desiredWith()), patient())
    assert.match(await readFile(join(dir, 'udrcfg.yaml'), 'utf8'), /w0rd-of-mouth/)
    fake.changeSettings({
      ...fake.context.settings,
      hss: { mongo_url: 'mongodb://core:an0ther-one@db/free5gc' },
    })
    const shown = JSON.stringify(
      await b.files.driver.plan(await b.driver.render(desiredOf(fake.context.settings)), patient()),
    )
    assert.not.match(shown, /w0rd-of-mouth|an0ther-one/)
    assert.not.match(JSON.stringify(fake.logs), /w0rd-of-mouth|an0ther-one/)
  }),
)

driver('sees what answers, what does not, and by the containers what has no address', () =>
  inWorld(async ({ b, core, engine, fake }) => {
    attach(core, imsiOf(1), 1)
    const seen = await b.driver.observe(patient())
    assert.ok([...seen.services.values()].every((state) => state === 'up'))
    assert.is(seen.services.size, 10)
    assert.is(seen.attachedUes, 1)
    assert.is(seen.radios, undefined)
    await core.stop('amf')
    engine.ended.set('c-udm', 'exited').set('c-upf', 'gone')
    const later = await b.driver.observe(patient())
    const down = [...later.services].filter(([, state]) => state !== 'up')
    assert.equal(down, [
      ['udm', 'down'],
      ['upf', 'down'],
      ['amf', 'down'],
    ])
    assert.is(later.attachedUes, undefined)
    await b.health.look(patient())
    const [daemons] = b.health.components()
    assert.equal([daemons?.status, daemons?.detail], ['degraded', 'down: udm, upf, amf'])
    // Without an engine nobody knows, and health says so.
    const { settings } = fake.context
    fake.changeSettings({ ...settings, core_b: { ...settings.core_b, containers: {} } })
    await b.health.look(patient())
    assert.is(b.health.components()[0]?.detail, 'down: amf; not known: udr, udm, ausf, nssf, pcf, chf, upf')
  }),
)

driver('names the functions that the NRF has lost, and has them register again', () =>
  inWorld(async ({ b, core, engine, fake }) => {
    await b.driver.apply(await b.driver.render(desiredOf(fake.context.settings)), patient())
    engine.restarted.length = 0
    // Its database was replaced: all answer, and none finds another.
    core.profiles.clear()
    const seen = await b.driver.observe(patient())
    assert.ok([...seen.services.values()].every((state) => state === 'up'))
    assert.equal(
      [...(seen.problems?.keys() ?? [])],
      ['udr', 'udm', 'ausf', 'nssf', 'pcf', 'chf', 'smf', 'amf'],
    )
    await b.health.look(patient())
    const [, work] = b.health.components()
    assert.is(work?.status, 'down')
    assert.match(work?.detail ?? '', /^udr, udm, ausf, nssf, pcf, chf, smf, amf: the NRF does not have it/)
    assert.equal(engine.restarted, [], 'one that restarts is missed for one look')
    await b.health.look(patient())
    assert.equal(engine.restarted.toSorted(), [
      'c-amf',
      'c-ausf',
      'c-chf',
      'c-nssf',
      'c-pcf',
      'c-smf',
      'c-udm',
      'c-udr',
    ])
    await b.health.look(patient())
    assert.is(b.health.components()[1]?.status, 'ok')
    assert.is((await b.driver.observe(patient())).problems?.size, 0)
  }),
)

driver('restarts nobody whom the NRF has lost where that is left to people, and goes on telling it', () =>
  inWorld(
    async ({ b, core, engine, fake }) => {
      await b.driver.apply(await b.driver.render(desiredOf(fake.context.settings)), patient())
      engine.restarted.length = 0
      for (const [id, type] of core.profiles) if (type === 'AUSF') core.profiles.delete(id)
      for (let look = 0; look < 4; look += 1) await b.health.look(patient())
      assert.equal(engine.restarted, [])
      assert.match(b.health.components()[1]?.detail ?? '', /^ausf: /)
    },
    { mend: false },
  ),
)

driver('tells of an NRF that has lost its database', () =>
  inWorld(async ({ b, core }) => {
    core.behaviour.instead.set('nrf', ({ path }) =>
      path.startsWith('/nnrf-disc') ? { status: 500, body: '{"cause":"SYSTEM_FAILURE"}' } : undefined,
    )
    await b.health.look(patient())
    assert.match(b.health.components()[1]?.detail ?? '', /^nrf: it answers 500/)
    // The real one waits for it without end.
    core.behaviour.instead.set('nrf', ({ path }) => (path.startsWith('/nnrf-disc') ? 'hang' : undefined))
    await b.health.look(patient())
    assert.match(b.health.components()[1]?.detail ?? '', /^nrf: it does not answer who looks for others/)
  }),
)

const DEAF =
  '2026-11-28T07:20:01.5Z 2026-11-28T07:20:01.4Z \u001b[31m [ERRO][AMF][Ngap] \u001b[0mFailed to listen: cannot assign requested address\n'
const HEARS =
  '2026-11-28T07:20:09.5Z 2026-11-28T07:20:09.4Z \u001b[36m [INFO][AMF][Ngap] \u001b[0mListen on 127.0.0.18:38412\n'

driver('takes a change back with which the AMF listens to no base station', () =>
  inWorld(async ({ b, dir, engine }) => {
    engine.say('c-amf', HEARS)
    await b.driver.apply(await b.driver.render(desiredWith()), patient())
    const before = await readFile(join(dir, 'amfcfg.yaml'), 'utf8')
    engine.say('c-amf', `${HEARS}${DEAF.replaceAll('07:20:01', '07:21:01')}`)
    const error = await failureOf(b.driver.apply(await b.driver.render(desiredWith({ tac: 9 })), patient()))
    assert.is(error.code, 'core_config_refused')
    assert.match(
      error.message,
      /amf does not get well.*it does not listen for base stations \(N2\).*cannot assign/,
    )
    assert.is(await readFile(join(dir, 'amfcfg.yaml'), 'utf8'), before)
    await b.health.look(patient())
    assert.match(b.health.components()[1]?.detail ?? '', /^amf: it does not listen/)
  }),
)

driver('applies files where the kernel has no SCTP, whatever they say, and tells of it', () =>
  inWorld(async ({ b, engine }) => {
    engine.say('c-amf', DEAF.replace('cannot assign requested address', 'protocol not supported'))
    await b.driver.apply(await b.driver.render(desiredWith()), patient())
    await b.health.look(patient())
    assert.match(b.health.components()[1]?.detail ?? '', /^amf: .*protocol not supported/)
  }),
)

driver('tells of an AMF without N2 and of an SMF without its UPF, until they say better', () =>
  inWorld(async ({ b, engine }) => {
    const smf = (second: number, words: string): string =>
      `2026-11-28T07:20:0${second}.5Z 2026-11-28T07:20:0${second}.4Z \u001b[33m [WARN][SMF][Main] \u001b[0m${words}\n`
    const lost = smf(
      2,
      'PFCP Heartbeat error: SendPfcpHeartbeatRequest error: Request Transaction [5]: retry-out',
    )
    engine.say('c-amf', DEAF)
    engine.say(
      'c-smf',
      `${smf(1, 'Received PFCP Association Setup Accepted Response from UPF[127.0.0.8]')}${lost}`,
    )
    const { problems } = await b.driver.observe(patient())
    assert.equal([...(problems?.keys() ?? [])], ['smf', 'amf'])
    assert.match(problems?.get('smf') ?? '', /no PFCP association with the UPF \(N4\).*retry-out/)
    const back = smf(3, 'Received PFCP Association Setup Accepted Response from UPF[127.0.0.8]')
    engine.say('c-smf', `${lost}${back}`)
    engine.say('c-amf', `${DEAF}${HEARS}`)
    await b.health.look(patient())
    assert.is(b.health.components()[1]?.status, 'ok')
  }),
)

driver('tells how the CHF runs by its container, and by its registration where there is none', () =>
  inWorld(async ({ b, core, engine, fake }) => {
    engine.started.set('c-chf', 5_000)
    assert.equal(await b.oam.charging(patient()), { run: '5000', isOlderThanSessions: false })
    engine.started.set('c-smf', 6_000)
    assert.equal(await b.oam.charging(patient()), { run: '5000', isOlderThanSessions: true })
    engine.ended.set('c-chf', 'exited')
    assert.is((await b.oam.charging(patient()))?.run, undefined)
    const named = fake.context.settings
    fake.changeSettings({ ...named, core_b: { ...named.core_b, containers: {} } })
    const first = await b.oam.charging(patient())
    comeUp(core, 'CHF')
    const second = await b.oam.charging(patient())
    assert.ok(first?.run !== undefined && second?.run !== undefined && first.run !== second.run)
    core.profiles.clear()
    assert.is((await b.oam.charging(patient()))?.run, undefined)
    const settings = fake.context.settings
    fake.changeSettings({ ...settings, core_b: { ...settings.core_b, charging: false } })
    assert.is(await b.oam.charging(patient()), undefined)
  }),
)

driver('ends sessions of ours that the CHF does not know, once it is back, and tells whose they are', () =>
  inWorld(async ({ b, core, engine, fake }) => {
    for (const number of [1, 2]) attach(core, imsiOf(number), number)
    fake.services.set(subscribersRef.id, {
      find: async (hash: string) => (hash === imsiHash(imsiOf(1)) ? { state: 'in-use' } : undefined),
    })
    b.oam.uncharged([imsiOf(1), imsiOf(2)])
    engine.ended.set('c-chf', 'exited')
    await b.health.look(patient())
    assert.equal([...core.sessions], [refOf(1), refOf(2)], 'what begins now would not be counted either')
    assert.match(b.health.components()[1]?.detail ?? '', /chf: it does not answer; chf: of 2 phones/)
    engine.ended.clear()
    await b.health.look(patient())
    assert.equal([...core.sessions], [refOf(2)], "somebody else's phone is left alone")
    assert.equal(
      fake.mutations.map(({ action, detail }) => [action, detail.core, detail.phones]),
      [['core.recall', 'core_b', 1]],
    )
    for (let look = 0; look < 3; look += 1) await b.health.look(patient())
    assert.is(fake.mutations.length, 1, 'nobody is cut off again and again')
    b.oam.uncharged([])
    await b.health.look(patient())
    assert.is(b.health.components()[1]?.status, 'ok')
  }),
)

driver('says that all are down when all have ended', () =>
  inWorld(async ({ b, engine }) => {
    for (const nf of ['nrf', 'udr', 'udm', 'ausf', 'nssf', 'pcf', 'chf', 'upf', 'smf', 'amf'])
      engine.ended.set(`c-${nf}`, 'exited')
    await b.health.look(patient())
    assert.is(b.health.components()[0]?.status, 'down')
  }),
)

driver('knows no number of phones while the AMF does not tell one', () =>
  inWorld(async ({ b, core, fake }) => {
    const shown = () => fake.metrics.value('svc_driver_core_b_registered_ues')
    assert.ok(Number.isNaN(shown()))
    attach(core, imsiOf(1), 1)
    await b.driver.ues(patient())
    assert.is(shown(), 1)
    await core.stop('amf')
    await failureOf(b.driver.ues(patient()))
    assert.ok(Number.isNaN(shown()))
  }),
)

driver('lists everybody once for all who ask at the same time', () =>
  inWorld(async ({ b, core }) => {
    core.behaviour.oauth = false
    for (const number of [3, 1, 2]) attach(core, imsiOf(number), number)
    const lists = await Promise.all([1, 2, 3].map(() => b.driver.ues(patient())))
    assert.equal(
      lists[0]?.map(({ imsi }) => imsi),
      [1, 2, 3].map(imsiOf),
    )
    assert.is(core.asked.amf.length, 1)
    core.ues.clear()
    assert.equal(await b.driver.ues(patient()), [])
  }),
)

driver('gives up a list for one who leaves, not for the others', () =>
  inWorld(async ({ b, core }) => {
    core.behaviour.oauth = false
    const leaving = new AbortController()
    const gone = failureOf(b.driver.ues(leaving.signal))
    const staying = b.driver.ues(patient())
    leaving.abort(new Error('no more'))
    assert.is((await gone).message, 'no more')
    assert.equal(await staying, [])
  }),
)

driver('counts kicks by their result and says in its health who cannot be asked', () =>
  inWorld(async ({ b, core, fake }) => {
    attach(core, imsiOf(1), 1)
    assert.is(await b.driver.kick(imsiOf(1), patient()), 'yes')
    assert.is(core.sessions.has(refOf(1)), false)
    assert.is(await b.driver.kick(imsiOf(1), patient()), 'not_attached')
    await core.stop('smf')
    await core.stop('amf')
    await failureOf(b.driver.kick(imsiOf(1), patient()))
    const of = (result: string) => fake.metrics.value('svc_driver_core_b_kicks_total', { result })
    assert.equal([of('yes'), of('not_attached'), of('failed')], [1, 1, 1])
    await b.health.look(patient())
    assert.equal(
      b.health.components().map(({ name, status, required }) => [name, status, required]),
      [
        ['daemons', 'degraded', true],
        ['work', 'down', true],
        ['amf', 'down', true],
        ['smf', 'degraded', false],
      ],
    )
    const isUp = (daemon: string) => fake.metrics.value('svc_driver_core_b_daemon_up', { daemon })
    assert.equal([isUp('nrf'), isUp('amf'), isUp('udr')], [1, 0, 1])
  }),
)

driver('says of a function that is started over and over how often', () =>
  inWorld(async ({ b, engine }) => {
    const work = async () => {
      await b.health.look(patient())
      return b.health.components().find(({ name }) => name === 'work')?.detail
    }
    await work()
    for (const started of [2, 3, 4]) {
      engine.started.set('c-amf', started)
      await work()
    }
    assert.match((await work()) ?? '', /amf: it was restarted 3 times in 1 minute/)
  }),
)

driver('writes no IMSI and no token into logs, errors, metrics and health', () =>
  inWorld(async ({ b, core, fake }) => {
    const texts: string[] = []
    for (const number of [1, 2, 3]) attach(core, imsiOf(number), number)
    await b.driver.ues(patient())
    await b.driver.kick(imsiOf(1), patient())
    core.behaviour.instead.set('amf', ({ path }) => ({ status: 500, body: `no ${path}` }))
    const failures = [failureOf(b.driver.kick(imsiOf(2), patient())), failureOf(b.driver.ues(patient()))]
    for (const error of await Promise.all(failures))
      texts.push(error.message, String(error.stack), String(error.cause))
    await b.health.look(patient())
    texts.push(JSON.stringify([fake.logs, b.health.components()]))
    for (const secret of [...core.tokens, ...[1, 2, 3].map(imsiOf)])
      assert.not.ok(texts.some((text) => text.includes(secret)))
    assert.ok(core.tokens.length > 0)
  }),
)

driver.run()
