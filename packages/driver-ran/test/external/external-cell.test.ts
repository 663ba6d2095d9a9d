import { assert, eventually, suite } from '@steeple/testkit'
import { type CellWorld, cellWorld } from './support/cell-world.ts'

const cells = suite('driver-ran/external/external-cell')

async function inWorld(
  body: (world: CellWorld) => Promise<void>,
  external: Parameters<typeof cellWorld>[0] = {},
): Promise<void> {
  const world = await cellWorld(external)
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
