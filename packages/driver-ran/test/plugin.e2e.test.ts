import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type ComponentHealth,
  coreDriverRef,
  type Instance,
  type RanDriver,
  ranDriverRef,
  type Settings,
  type Transmitter,
  transmitterRef,
  txGateRef,
} from '@steeple/contracts'
import {
  assert,
  eventually,
  type FakeContext,
  fakeContext,
  memoryDb,
  type Overrides,
  reconcileOne,
  type TempDir,
  tempDir,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { Scenario } from './stand-in/scenario.ts'
import { type FakeGate, fakeGate } from './support/gate.ts'
import { GOOD, PROFILE, readSamples, standInFiles } from './support/lab.ts'
import { processSuite } from './support/process-suite.ts'
import { recordingPath } from './support/recordings.ts'

const loaded = processSuite('driver-ran/plugin')
const opened: World[] = []
loaded.after.each(async () => {
  for (const each of opened.splice(0)) await each.close()
})

interface World {
  readonly fake: FakeContext<unknown>
  readonly instance: Instance
  readonly gate: FakeGate
  /** How many radios the core says it knows. */
  core: { radios: number }
  step(): Promise<void>
  health(): Promise<ComponentHealth | undefined>
  driver(): RanDriver
  samples(): number
  play(scenario: Partial<Scenario>): void
  close(): Promise<void>
}

async function world(ran: Overrides<Settings['ran']> = {}): Promise<World> {
  const folder: TempDir = await tempDir()
  const radio = standInFiles(folder.path)
  radio.play(GOOD)
  const gate = fakeGate({ mast: PROFILE })
  const core = { radios: 0 }
  const observe = async () => ({ ...core, configSha256: undefined, services: new Map(), attachedUes: 0 })
  const fake = fakeContext({
    config: {},
    id: 'driver-ran',
    settings: {
      server: { data_dir: folder.path },
      ran: {
        binary: radio.binary,
        device_name: 'uhd',
        device_args: `serial=${randomUUID()}`,
        profiles: { mast: PROFILE },
        ...ran,
      },
    },
    services: new Map<string, object>([
      [txGateRef.id, gate],
      [coreDriverRef.id, { observe }],
    ]),
    db: memoryDb([]),
  })
  const instance = await plugin.setup(fake.context)
  await instance.start?.()
  // The services are kept by id; the plugin gave them those types.
  const service = <T>(id: string): T => instance.services?.get(id) as T
  const here: World = {
    fake,
    instance,
    gate,
    core,
    step: async () => {
      await reconcileOne(instance.reconcilers?.[0], 'own')
    },
    health: async () => (await instance.health?.())?.[0],
    driver: () => service<RanDriver>(ranDriverRef.id),
    samples: () => readSamples(radio.samples).length,
    play: radio.play,
    close: async () => {
      gate.isAway = false
      gate.disarm()
      await service<Transmitter>(transmitterRef.id).stop(new AbortController().signal)
      await instance.stop?.('shutdown')
      await fake.dispose()
      await folder.remove()
    },
  }
  opened.push(here)
  return here
}

loaded('is quiet and well where no radio is configured', async () => {
  const here = await world({ binary: '' })
  await here.step()
  assert.equal(await here.health(), {
    name: 'ran',
    kind: 'ran',
    status: 'ok',
    detail: 'no radio configured',
    required: false,
  })
  const seen = await here.driver().observe(new AbortController().signal)
  assert.equal(seen, { pid: undefined, isConnected: false, isWanted: false, attachedUes: 0, mode: 'none' })
  assert.equal(here.fake.logs, [])
  here.gate.arm('mast')
  await here.step()
  assert.match((await here.health())?.detail ?? '', /no radio is configured/)
  assert.is((await here.health())?.required, false)
  here.core.radios = 1
  await here.fake.clock.advance(11_000)
  assert.is((await here.health())?.status, 'ok')
})

loaded('is required as long as it should be on air, and not before', async () => {
  const here = await world()
  await here.step()
  assert.equal([(await here.health())?.status, (await here.health())?.required], ['ok', false])
  here.gate.arm('mast')
  await here.step()
  assert.equal([(await here.health())?.status, (await here.health())?.required], ['degraded', true])
  await eventually(async () => (await here.health())?.status === 'ok')
  assert.is((await here.health())?.required, true)
  assert.is((await here.driver().observe(new AbortController().signal)).isConnected, true)
})

loaded('tells of each state of the radio as it comes, and has its health asked', async () => {
  const here = await world()
  const states = (): readonly unknown[] =>
    here.fake.observed.map(({ type, subject, data }) => `${type} ${subject} ${data.was}>${data.state}`)
  await here.step()
  assert.equal(states(), [], 'it was off')
  here.gate.arm('mast')
  await here.step()
  await eventually(() => /^ran.state ran .*>s1_up$/.test(String(states().at(-1))))
  const asked = here.fake.healthChanges
  assert.ok(asked >= states().length)
  here.gate.disarm()
  await here.step()
  await eventually(() => /^ran.state ran .*>off$/.test(String(states().at(-1))))
  assert.ok(here.fake.healthChanges > asked)
})

loaded('says why a radio is not started, and refuses a start in those words', async () => {
  const here = await world({ bind_addr: '198.51.100.7' })
  here.gate.arm('mast')
  await here.step()
  const health = await here.health()
  assert.is(health?.status, 'down')
  assert.match(health?.detail ?? '', /ran\.bind_addr 198\.51\.100\.7 is no address of this machine/)
  try {
    await here.driver().start(PROFILE, new AbortController().signal)
    assert.unreachable('it was started')
  } catch (error) {
    assert.match(String(error), /198\.51\.100\.7 is no address of this machine/)
  }
})

loaded(
  'restarts a radio that the core does not know for a minute, once, through the gate',
  async () => {
    const here = await world()
    here.gate.arm('mast')
    await here.step()
    await eventually(async () => (await here.health())?.status === 'ok')
    const before = (await here.driver().observe(new AbortController().signal)).pid
    for (let look = 0; look < 5; look += 1) await here.fake.clock.advance(10_000)
    assert.match((await here.health())?.detail ?? '', /the core has known none for/)
    for (let look = 0; look < 3; look += 1) await here.fake.clock.advance(10_000)
    await eventually(
      async () => (await here.driver().observe(new AbortController().signal)).pid === undefined,
    )
    await here.fake.clock.advance(2_000)
    // The step that starts asks twice; until what the process held is free again there is none.
    await eventually(async () => {
      const { asked } = here.gate
      await here.step()
      return here.gate.asked === asked + 2
    })
    await eventually(async () => {
      const after = (await here.driver().observe(new AbortController().signal)).pid
      return after !== undefined && after !== before
    })
    await eventually(async () =>
      assert.match((await here.health())?.detail ?? '', /; started anew: the core does not know a radio/),
    )
  },
  { limitMs: 360_000 },
)

loaded('takes the radio off the air when it leaves, although the gate stays open', async () => {
  const here = await world()
  here.gate.arm('mast')
  await here.step()
  await eventually(() => here.samples() > 3)
  await here.instance.stop?.('upgrade')
  const left = here.samples()
  await wait(100)
  await here.step()
  await wait(100)
  assert.is(here.samples(), left)
})

loaded(
  'goes on looking every second while the gate cannot be asked, and goes off when that lasts',
  async () => {
    const here = await world()
    here.gate.arm('mast')
    await here.step()
    await eventually(() => here.samples() > 3)
    here.gate.isAway = true
    const outcome = await reconcileOne(here.instance.reconcilers?.[0], 'own')
    assert.equal(outcome, { state: 'failed', reason: 'the store is away' })
    assert.equal(here.instance.reconcilers?.[0]?.backoff, { firstMs: 1_000, longestMs: 1_000 })
    await here.fake.clock.advance(29_000)
    await here.step()
    assert.is((await here.driver().observe(new AbortController().signal)).pid === undefined, false)
    await here.fake.clock.advance(2_000)
    await here.step()
    assert.is((await here.driver().observe(new AbortController().signal)).pid, undefined)
    here.gate.isAway = false
  },
)

loaded(
  'tries a refused radio once more when the settings are read anew, a changed order of keys included',
  async () => {
    const here = await world()
    here.play({ recording: recordingPath('bad_unknown_key'), exit: { atMs: 50, code: 255 } })
    here.gate.arm('mast')
    await here.step()
    await eventually(async () => /is not started/.test((await here.health())?.detail ?? ''))
    await here.fake.clock.advance(61_000)
    await here.step()
    assert.is((await here.driver().observe(new AbortController().signal)).pid, undefined)
    here.play(GOOD)
    const { ran, server } = here.fake.context.settings
    const woken = here.fake.enqueued.length
    const turned = Object.fromEntries(Object.entries(ran).reverse())
    here.fake.changeSettings({ ran: { ...turned, profiles: { ...ran.profiles, other: PROFILE } }, server })
    assert.is(here.fake.enqueued.length, woken + 1)
    await here.step()
    await eventually(() => here.samples() > 3)
  },
)

loaded('leaves a start with settings that reload it to its next copy', async () => {
  const here = await world({ binary: '/nonexistent/srsenb' })
  here.gate.arm('mast')
  await here.step()
  assert.match((await here.health())?.detail ?? '', /is not there/)
  const { ran, server } = here.fake.context.settings
  const woken = here.fake.enqueued.length
  here.fake.changeSettings({ ran: { ...ran, binary: join(server.data_dir, 'srsenb') }, server })
  assert.is(here.fake.enqueued.length, woken)
  await here.step()
  await wait(200)
  assert.is(here.samples(), 0)
  assert.is((await here.driver().observe(new AbortController().signal)).pid, undefined)
  // The reload has not come: it is not waited for without end.
  await here.fake.clock.advance(31_000)
  await here.step()
  await eventually(() => here.samples() > 3)
})

loaded('says of what runs that it is on air, although nobody wants it any more', async () => {
  const here = await world()
  here.gate.arm('mast')
  await here.step()
  await eventually(async () => (await here.health())?.status === 'ok')
  assert.match((await here.health())?.detail ?? '', /profile mast is on air at 2680 MHz, connected/)
  here.gate.disarm()
  assert.match((await here.health())?.detail ?? '', /profile mast is on air at 2680 MHz/)
  await here.step()
  assert.is((await here.health())?.detail.startsWith('off: TX is not armed'), true)
})

loaded('says why a virtual radio does not run', async () => {
  const here = await world({ virtual_profile: 'bench' })
  await here.step()
  assert.match(
    (await here.health())?.detail ?? '',
    /TX is not armed; ran\.virtual_profile bench does not run: ran\.device_name is not zmq/,
  )
})

loaded('lets no identity of a subscriber out, whatever the program says', async () => {
  const here = await world()
  const imsi = '001010123456789'
  here.play({
    lines: [
      `Error: no subscriber ${imsi} failed`,
      `S1 Setup Failure. Cause: misc - unknown ${imsi}`,
      `User ${imsi} connected`,
      `imsi-${imsi}: could not be found`,
    ].map((text) => ({ atMs: 50, stream: 'out', text })),
    exit: { atMs: 150, code: 255 },
  })
  here.gate.arm('mast')
  await here.step()
  await eventually(() => here.fake.logs.some(({ message }) => message === 'radio ended'))
  const shown = JSON.stringify([here.fake.logs, await here.health()])
  assert.match(shown, /no subscriber … failed/)
  assert.not.match(shown, imsi)
})

loaded.run()
