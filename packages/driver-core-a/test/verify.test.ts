import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { coreDriverRef, hssDriverRef } from '@steeple/contracts'
import { containerEngine } from '@steeple/lab-core'
import { assert, failureOf, patient, suite } from '@steeple/testkit'
import { hintFor, withHints } from '../src/core-driver.ts'
import { daemonLook } from '../src/observe/daemon-states.ts'
import { keptBus } from '../src/sbi/bus.ts'
import { probeDaemon, workProblems } from '../src/verify/probe.ts'
import { desiredOf } from './support/desired.ts'
import { recording } from './support/recordings.ts'
import { type World, world } from './support/world.ts'

const verify = suite('driver-core-a/verify')

async function withWorld(generation: 'epc' | '5gc', body: (it: World) => Promise<void>): Promise<void> {
  await using it = await world(generation)
  await body(it)
}

function asked(it: World, generation: 'epc' | '5gc', tun?: string) {
  const bus = keptBus(it.fake.context.retiring)
  const nothing = async (): Promise<undefined> => undefined
  const parts = {
    bus,
    look: daemonLook(nothing, bus),
    tales: nothing,
    tun: async () => tun,
    pools: async () => [],
    upfContainer: nothing,
  }
  return { parts, places: { ...it.a.places(), generations: [generation] } }
}

function probe(it: World, generation: 'epc' | '5gc', daemon: string): Promise<string | undefined> {
  const { parts, places } = asked(it, generation)
  return probeDaemon(daemon, places, parts, patient())
}

/** What the MME printed with a faulty file. */
function recordedError(name: string): string {
  const [, words = ''] =
    recording('mmed-config-errors.txt')
      .split(/^### /m)
      .find((block) => block.split('\n', 1)[0]?.endsWith(name))
      ?.split(/\n(.*)/s) ?? []
  return words
}

verify('takes daemons for well that answer, have their peer and are registered', () =>
  withWorld('5gc', async (it) => {
    for (const daemon of ['upf', 'smf', 'amf', 'pcf', 'nrf', 'scp', 'udr', 'bsf'])
      assert.is(await probe(it, '5gc', daemon), undefined, daemon)
    it.bus.types = ['AMF', 'SMF']
    assert.is(await probe(it, '5gc', 'udr'), 'it is not registered at the NRF')
    await it.bus.close()
    assert.is((await failureOf(probe(it, '5gc', 'nrf'))).message, 'nrf cannot be asked: ECONNREFUSED')
  }),
)

verify('says what is missing', () =>
  withWorld('epc', async (it) => {
    it.core.fault = (_daemon, path) => (path === '/metrics' ? { body: 'pfcp_peers_active 0\n' } : undefined)
    assert.is(await probe(it, 'epc', 'smf'), 'it has no PFCP association with the UPF')
    it.core.fault = () => ({ status: 500 })
    assert.is(await probe(it, 'epc', 'mme'), 'its metrics server answers 500')
    await it.core.stop('hss')
    assert.is((await failureOf(probe(it, 'epc', 'hss'))).message, 'hss cannot be asked: ECONNREFUSED')
  }),
)

verify('tells of a UPF without its TUN device, which no file makes, and takes no change back for it', () =>
  withWorld('epc', async (it) => {
    const { parts, places } = asked(it, 'epc', 'its TUN device is missing')
    assert.equal(
      [...(await workProblems(['smf', 'upf'], places, parts, patient()))],
      [['upf', 'its TUN device is missing']],
    )
    assert.is(await probeDaemon('upf', places, parts, patient()), undefined)
  }),
)

verify('knows what every recorded complaint means that can come from a rendered file or its place', () => {
  const told = (name: string): string => hintFor(recordedError(name)) ?? ''
  assert.match(told('bad-addr-garbage.yaml'), /an address is none/)
  assert.match(told('bad-addr-not-local.yaml'), /does not have that address/)
  assert.match(told('bad-no-tai.yaml'), /another file than the rendered one/)
  assert.match(told('bad-syntax.yaml'), /not whole/)
  assert.match(told('/nonexistent.yaml'), /config_mount/)
  assert.match(hintFor(recording('hssd-no-mongo.txt')) ?? '', /core_a\.addresses\.mongo/)
  assert.is(hintFor('all is well'), undefined)
})

verify('explains the last run of a daemon alone, not what it said before', async () => {
  const engine = withHints({
    ...containerEngine(['core-smf']),
    // An engine keeps the words of every run.
    logsTail: async (_container, _lines, _signal, sinceMs) =>
      sinceMs === undefined ? recordedError('/nonexistent.yaml') : 'all is well',
  })
  assert.is(await engine.logsTail('core-smf', 40, patient(), 1), 'all is well')
})

verify(
  'applies a change with a restart of those it concerns, and puts the old files back when one is refused',
  () =>
    withWorld('epc', async (it) => {
      const { driver } = it.a
      const desired = desiredOf(it.fake.context.settings)
      await driver.apply(await driver.render(desired), patient())
      it.engine.restarted.length = 0
      const good = await it.text()
      const moved = await driver.render({ ...desired, tac: 8 })
      it.engine.failing.set('core-mme', recordedError('bad-addr-not-local.yaml'))
      const words = (await failureOf(driver.apply(moved, patient()))).message
      assert.match(words, /mme does not get well .* Failed to initialize MME/)
      assert.match(words, /that is: the daemon does not have that address: see core_a\.addresses/)
      assert.match(words, /The last good files are back/)
      assert.is((await it.text()).includes('"7\\"'), good.includes('"7\\"'))
      it.engine.restarted.length = 0
      await driver.apply(moved, patient())
      // The tracking area is the MME's alone; SGW-C and SMF would keep its sessions.
      assert.equal(it.engine.restarted, ['core-mme', 'core-sgwc', 'core-smf'])
      assert.is((await driver.observe(patient())).configSha256, moved.sha256)
    }),
)

verify('says in the plan which tracking areas go, and that base stations of them lose the core', () =>
  withWorld('epc', async (it) => {
    const { driver } = it.a
    const desired = desiredOf(it.fake.context.settings)
    await driver.apply(await driver.render(desired), patient())
    const theirs = (await readFile(join(it.dir, 'mme.yaml'), 'utf8')).replace(/tac: "7"/, 'tac: [21, 22]')
    await writeFile(join(it.dir, 'mme.yaml'), theirs)
    await driver.adopt?.(desired, [], patient())
    const notes = async (tac: number): Promise<string> =>
      ((await driver.plan?.(await driver.render({ ...desired, tac }), patient()))?.notes ?? []).join('\n')
    assert.not.match(await notes(desired.tac), 'tracking area')
    it.fake.services.set(coreDriverRef.id, { stations: async () => [{ id: 1, address: undefined }] })
    assert.match(
      await notes(22),
      'the tracking area 21 goes from mme.yaml, which then has 22: base stations set to another one lose the core; 1 base station connected now',
    )
    assert.match(await notes(9), 'the tracking areas 21, 22 go from mme.yaml, which then has 9')
  }),
)

verify('says in the plan whose static addresses land in the pool of another APN, and that IPv6 goes', () =>
  withWorld('epc', async (it) => {
    const { driver } = it.a
    const addresses = [
      { apn: 'internet', address: '10.45.0.66' },
      { apn: 'internet', address: '10.45.128.7' },
      { apn: 'corp', address: '10.45.0.67' },
    ]
    it.fake.services.set(hssDriverRef.id, { survey: async () => ({ subscribers: 3, addresses }) })
    const desired = { ...desiredOf(it.fake.context.settings), apns: ['internet', 'ims'] }
    await mkdir(it.dir, { recursive: true })
    await writeFile(
      join(it.dir, 'smf.yaml'),
      'smf:\n  session:\n    - subnet: 10.45.0.0/16\n    - subnet: 2001:db8:cafe::/48\n',
    )
    const notes = (await driver.plan?.(await driver.render(desired), patient()))?.notes ?? []
    assert.match(notes.join('\n'), /smf\.yaml has IPv6 pools, which go/)
    assert.match(
      notes.join('\n'),
      /becomes the range of the APN ims, and static addresses .*: 10\.45\.0\.66 of internet, 10\.45\.0\.67 of corp\./,
    )
    assert.not.match(notes.join('\n'), /10\.45\.128\.7 of/)
    // One pool for all: nobody's address is another's.
    const alone = await driver.plan?.(await driver.render({ ...desired, apns: ['internet'] }), patient())
    assert.not.match(alone?.notes.join('\n') ?? '', /static addresses/)
  }),
)

verify('takes no configuration back because the database is not there yet', () =>
  withWorld('epc', async (it) => {
    const { driver, files } = it.a
    const words = '[dbi] WARNING: Failed to connect to server [mongodb://localhost/open5gs]'
    it.engine.failing.set('core-hss', words).set('core-pcrf', words)
    const rendered = await driver.render(desiredOf(it.fake.context.settings))
    await driver.apply(rendered, patient())
    assert.is(await files.appliedSha256(), rendered.sha256)
    assert.ok(it.engine.restarted.includes('core-mme'), 'the others do not wait for it')
    assert.equal((await driver.observe(patient())).services.get('hss'), 'down')
  }),
)

verify.run()
