import { assert, eventually, fakeContext, suite } from '@steeple/testkit'
import { externalDriver, externalHealth } from '../../src/external/external-driver.ts'
import { PROFILE } from '../support/lab.ts'
import { type CellWorld, cellWorld } from './support/cell-world.ts'

const cells = suite('driver-ran/external/external-cell')

async function inWorld(
  body: (world: CellWorld) => Promise<void>,
  external: Parameters<typeof cellWorld>[0] = {},
  more: Parameters<typeof cellWorld>[1] = {},
): Promise<void> {
  const world = await cellWorld(external, more)
  try {
    await body(world)
  } finally {
    await world.close()
  }
}

const soon = (): AbortSignal => AbortSignal.timeout(500)

async function rejection(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'it resolved',
    (error: Error) => error.message,
  )
}

async function onAir(world: CellWorld): Promise<void> {
  world.gate.arm('mast')
  await world.cell.step()
  assert.is(world.isSending, true)
  await world.cell.step()
}

cells('turns the cell on when the gate is open, and off when it is closed', () =>
  inWorld(async (world) => {
    await world.cell.step()
    assert.is(world.cell.mayBeOn, false)
    assert.is(world.isCoreClosed, true, 'the core is closed to a cell that must be off')
    await onAir(world)
    assert.is(world.isCoreClosed, false)
    assert.is(world.cell.snapshot().state, 's1_up')
    world.gate.disarm()
    await world.cell.step()
    await world.cell.stop(soon())
    assert.is(world.isSending, false)
    assert.is(world.cell.mayBeOn, false)
    assert.is(world.isCoreClosed, true)
  }),
)

cells('turns off a cell that reports another channel, and does not turn it on again in the same arm', () =>
  inWorld(async (world) => {
    const driver = externalDriver(world.context, world.cell)
    const wanted = PROFILE.channel
    world.channel = { numbers: [wanted + 50] }
    world.gate.arm('mast')
    await world.cell.step()
    assert.is(world.isSending, true, 'nothing is known of its channel while it has no power')
    await world.cell.step()
    assert.is(world.isSwitchedOn, false)
    assert.match(driver.deviations?.(PROFILE)[0] ?? '', new RegExp(`reports channel ${wanted + 50}`))
    const { incident, status } = externalHealth(world.context, world.cell.snapshot())
    assert.equal([incident, status], ['cell_other_channel', 'down'])
    await world.cell.step()
    await world.cell.step()
    assert.equal(
      world.orders.filter(Boolean).length,
      1,
      'without power it says nothing of its channel any more',
    )
    world.gate.disarm()
    await world.cell.stop(soon())
    assert.equal(driver.deviations?.(PROFILE), [])
    assert.is(externalHealth(world.context, world.cell.snapshot()).incident, 'cell_other_channel')
    world.channel = { numbers: [wanted] }
    await onAir(world)
    assert.is(world.cell.snapshot().deviation, undefined)
    assert.is(externalHealth(world.context, world.cell.snapshot()).status, 'ok')
  }),
)

cells('does not arm a profile whose channel a cell contradicts', () =>
  inWorld(async (world) => {
    world.meter = () => ({ of: 'transmitter', isZero: !world.isSwitchedOn, shown: 'RF' })
    world.isStubborn = true
    world.channel = { numbers: [PROFILE.channel, PROFILE.channel + 1] }
    await world.cell.step()
    const driver = externalDriver(world.context, world.cell)
    assert.match(driver.problems?.(PROFILE).join() ?? '', /set both the same/)
    world.channel = { unknown: 'the cell at / gives no channel' }
    await eventually(async () => {
      await world.cell.step()
      assert.equal(driver.problems?.(PROFILE), [])
    })
  }),
)

cells('takes no timer for granted that GenieACS would never tell again', () =>
  inWorld(
    async (world) => {
      await world.cell.step()
      const driver = externalDriver(world.context, world.cell)
      assert.is(driver.fallback?.()?.kind, 'none')
      assert.match(driver.problems?.(PROFILE).join() ?? '', /GenieACS repeats no order/)
    },
    { refresh: '30s', stays_on: false, switch: { genieacs: { url: 'http://127.0.0.1:7557', device: 'x' } } },
  ),
)

cells('says what becomes of the cell when this machine fails', () =>
  inWorld(
    async (world) => {
      assert.is(externalDriver(world.context, world.cell).fallback?.()?.kind, 'none')
      const timed = fakeContext({ config: {}, settings: { ran: { external: { refresh: '30s' } } } })
      assert.is(externalDriver(timed.context, world.cell).fallback?.()?.kind, 'timer')
      await timed.dispose()
    },
    { refresh: '0s' },
  ),
)

cells('a virtual profile of a lab never turns on a cell', () =>
  inWorld(
    async (world) => {
      await world.cell.step()
      assert.equal(world.orders, [])
      assert.match(Reflect.get(Object(world.cell.snapshot().desired), 'reason'), /never virtual/)
    },
    {},
    { server: { mode: 'lab' }, ran: { device_name: 'zmq', virtual_profile: 'mast' } },
  ),
)

cells('does not turn on what it cannot read', () =>
  inWorld(async (world) => {
    world.isSilent = true
    world.gate.arm('mast')
    await world.cell.step()
    assert.equal(world.orders, [])
    assert.is(world.cell.snapshot().state, 'stalled')
    assert.is(world.cell.mayBeOn, true)
  }),
)

cells('says why the cell is not turned on, until it is', () =>
  inWorld(async (world) => {
    const health = () => externalHealth(world.context, world.cell.snapshot()).detail
    world.isRefusing = true
    world.gate.arm('mast')
    await rejection(world.cell.step())
    await world.cell.step()
    assert.match(health(), /is being turned on: .*the switch says no/)
    assert.equal(world.orders, [true], 'it was only read since')
    world.gate.disarm()
    await world.cell.step()
    world.isRefusing = false
    await onAir(world)
    assert.not.match(health(), /the switch says no/)
  }),
)

cells('is not off while the core has its association, and is when it is gone', () =>
  inWorld(async (world) => {
    await onAir(world)
    world.isRemembered = true
    world.gate.disarm()
    assert.match(await rejection(world.cell.stop(soon())), /abort|timeout/i)
    assert.is(world.isSwitchedOn, false)
    assert.is(world.cell.mayBeOn, true)
    world.isRemembered = false
    await world.cell.stop(AbortSignal.timeout(5_000))
    assert.is(world.cell.mayBeOn, false)
  }),
)

cells('is not off while the switch does not answer', () =>
  inWorld(async (world) => {
    await onAir(world)
    world.isSilent = true
    world.gate.disarm()
    await rejection(world.cell.stop(soon()))
    assert.is(world.cell.mayBeOn, true)
    assert.is(world.cell.snapshot().verdict.state, 'on', 'the core still has it')
    world.isSilent = false
    await world.cell.stop(AbortSignal.timeout(5_000))
    assert.is(world.isSending, false)
  }),
)

cells('a cell that the core has never seen is not off because the core does not see it', () =>
  inWorld(async (world) => {
    world.isLost = true
    await onAir(world)
    world.gate.disarm()
    await rejection(world.cell.stop(soon()))
    assert.is(world.cell.snapshot().verdict.state, 'unknown')
    const next = world.restarted()
    await next.step()
    assert.is(next.mayBeOn, true, 'a restart does not forget it')
    world.meter = (isSending) => ({ of: 'power', isZero: !isSending, shown: isSending ? '9 W' : '0 W' })
    await next.stop(AbortSignal.timeout(5_000))
    assert.is(next.mayBeOn, false)
  }),
)

cells('an order to turn on that is under way does not outlive a stop', () =>
  inWorld(async (world) => {
    world.meter = (isSending) => ({ of: 'power', isZero: !isSending, shown: isSending ? '9 W' : '0 W' })
    await world.cell.step()
    world.slowOnMs = 300
    world.gate.arm('mast')
    const starting = world.cell.step().catch(() => undefined)
    await eventually(() => world.orders.includes(true))
    world.gate.disarm()
    await world.cell.stop(AbortSignal.timeout(5_000))
    await starting
    assert.is(world.isSending, false)
    assert.equal(world.orders, [true, false, false], 'off at once, and again behind the order')
  }),
)

cells('a cell that comes back by itself is told off, kept out of the core, and an incident', () =>
  inWorld(
    async (world) => {
      await world.cell.step()
      world.isStubborn = true
      world.drive()
      await eventually(() => assert.is(world.cell.snapshot().state, 'not_permitted'))
      assert.is(world.isCoreClosed, true)
      assert.is(world.cell.mayBeOn, true)
      assert.equal(world.cameBack, ['it asks for the core, which is closed to it'])
      await eventually(() => assert.equal([...new Set(world.orders)], [false]))
      world.isStubborn = false
      world.meter = () => ({ of: 'power', isZero: true, shown: '0 W' })
      await eventually(() => assert.is(world.cell.snapshot().state, 'off'))
      assert.is(world.cameBack.length, 1)
    },
    { poll: '1s' },
  ),
)

cells('tells a switch with a timer again that the cell be on', () =>
  inWorld(
    async (world) => {
      await onAir(world)
      world.drive()
      await eventually(() => assert.ok(world.orders.filter((isOn) => isOn).length >= 3))
      world.gate.disarm()
      await eventually(() => assert.is(world.cell.snapshot().state, 'off'))
    },
    { refresh: '1s' },
  ),
)

cells('says why the core is not closed to it', () =>
  inWorld(async (world) => {
    world.isClosingRefused = true
    await world.cell.step()
    assert.is(world.cell.mayBeOn, false)
    assert.is(world.cell.snapshot().openBecause, 'nft: not permitted')
    await onAir(world)
    await world.cell.stop(AbortSignal.timeout(5_000))
  }),
)

cells.run()
