import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClockJudge, clockJudgeRef, healthBoardRef, systemPrincipal } from '@steeple/contracts'
import { initNode } from '@steeple/secrets'
import { assert, eventually, type FakeClock, fakeClock, suite } from '@steeple/testkit'
import type { Machine } from '../../src/clock/clock-keeper.ts'
import type { Kernel } from '../../src/create-kernel.ts'
import { startKernel } from '../start-kernel.ts'

const keeper = suite('kernel/clock-keeper')

const START = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A machine whose clock, sleep, boots and NTP a test drives. */
interface FakeMachine extends Machine {
  bootId: string
  upBeforeMs: number
  isKept: boolean
}

interface Box {
  readonly clock: FakeClock
  readonly machine: FakeMachine
  start(buildDate?: string): Promise<Kernel>
  /** Off for so long, by the machine's own power: the clock goes on, the monotonic one begins anew in truth. */
  off(ms: number, isReboot: boolean): Promise<void>
}

async function inBox(work: (box: Box) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'steeple-clock-'))
  const clock = fakeClock(START)
  const machine: FakeMachine = {
    bootId: randomBytes(4).toString('hex'),
    upBeforeMs: 10_000,
    isKept: false,
    upMs: () => machine.upBeforeMs + clock.monotonicMs(),
    isSynchronised: async () => machine.isKept,
  }
  const open = new Set<Kernel>()
  await initNode({ dataDir, clock, name: 'clockwork' })
  try {
    await work({
      clock,
      machine,
      start: async (buildDate) => {
        for (const kernel of open) await kernel.close()
        open.clear()
        const kernel = await startKernel(dataDir, {
          clock,
          timers: clock,
          machine,
          ...(buildDate === undefined ? {} : { buildDate }),
        })
        open.add(kernel)
        return kernel
      },
      off: async (ms, isReboot) => {
        for (const kernel of open) await kernel.close()
        open.clear()
        await clock.advance(ms)
        if (!isReboot) return
        machine.bootId = randomBytes(4).toString('hex')
        machine.upBeforeMs = -clock.monotonicMs()
      },
    })
  } finally {
    for (const kernel of open) await kernel.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

const judgeOf = (kernel: Kernel): ClockJudge => {
  const judge = kernel.service(clockJudgeRef)
  assert.ok(judge)
  return judge!
}
const doubtOf = (kernel: Kernel): string => judgeOf(kernel).view().doubt ?? ''

keeper('believes a machine that was stopped for days without a reboot', async () => {
  await inBox(async ({ start, off }) => {
    await start()
    await off(3 * DAY, false)
    assert.is(doubtOf(await start()), '')
  })
})

keeper('notices a clock that was set while the service was stopped', async () => {
  await inBox(async ({ clock, start, off }) => {
    await start()
    await off(HOUR, false)
    clock.jump(START + 800 * DAY)
    const kernel = await start()
    assert.match(doubtOf(kernel), /800 days ahead of what the last commit lets expect/)
    assert.is(kernel.clock.nowMs(), START + HOUR)
  })
})

keeper('takes an hour of darkness as it comes and doubts a longer one', async () => {
  await inBox(async ({ start, off }) => {
    await start()
    await off(HOUR - 60_000, true)
    assert.is(doubtOf(await start()), '')
    await off(2 * DAY, true)
    assert.match(doubtOf(await start()), /2 days ahead/)
  })
})

keeper('believes what keeps the clock, up to a month', async () => {
  await inBox(async ({ clock, machine, start, off }) => {
    await start()
    await off(20 * DAY, true)
    const kernel = await start()
    kernel.begin()
    await clock.advance(60_000)
    assert.match(doubtOf(kernel), /20 days ahead/)
    machine.isKept = true
    await eventually(async () => {
      await clock.advance(60_000)
      assert.is(doubtOf(kernel), '')
    })
    clock.jump(clock.nowMs() + 800 * DAY)
    await clock.advance(120_000)
    assert.match(doubtOf(kernel), /800 days ahead/)
  })
})

keeper('doubts a clock that is behind the last commit, the node or the build', async () => {
  await inBox(async ({ clock, start }) => {
    assert.match(
      doubtOf(await start('2026-05-01T00:00:00Z')),
      /days behind what the build of this version lets expect/,
    )
    clock.jump(START - DAY)
    assert.match(doubtOf(await start()), /behind what the (last commit|making of this node) lets expect/)
  })
})

keeper('says it in health and in the audit trail, and stays confirmed over a restart', async () => {
  await inBox(async ({ clock, start }) => {
    const kernel = await start()
    kernel.begin()
    await clock.advance(6_000)
    clock.jump(START + 800 * DAY)
    await clock.advance(6_000)
    const board = kernel.service(healthBoardRef)
    const seen = (): string =>
      board?.components().find(({ name }) => name === 'clock')?.status ?? 'nothing is said'
    // A look that was cut off by its bound says `down`; the next one says what is.
    const isSoon = (status: string): Promise<void> =>
      eventually(async () => {
        await clock.advance(6_000)
        assert.is(seen(), status)
      })
    await isSoon('degraded')
    await judgeOf(kernel).confirm()
    await isSoon('ok')
    const actions = (await kernel.audit.list({}, 10, undefined)).map(({ action }) => action)
    assert.equal(actions.slice(0, 2), ['clock.plausible', 'clock.doubt'])
    const again = await start()
    assert.equal([doubtOf(again), again.clock.nowMs()], ['', clock.nowMs()])
  })
})

keeper('takes a confirmed time back, too, and keeps to it', async () => {
  await inBox(async ({ clock, start }) => {
    const kernel = await start()
    clock.jump(START + 800 * DAY)
    await judgeOf(kernel).confirm()
    clock.jump(START + DAY)
    assert.match(doubtOf(kernel), /behind/)
    await judgeOf(kernel).confirm()
    assert.equal([doubtOf(kernel), kernel.clock.nowMs()], ['', START + DAY])
    assert.is(doubtOf(await start()), '')
  })
})

keeper('takes a sleep of the machine for time that has passed', async () => {
  await inBox(async ({ clock, machine, start }) => {
    const kernel = await start()
    kernel.begin()
    await clock.advance(6_000)
    clock.jump(clock.nowMs() + 9 * HOUR)
    machine.upBeforeMs += 9 * HOUR
    await eventually(async () => {
      await clock.advance(6_000)
      assert.is(doubtOf(kernel), '')
    })
  })
})

keeper('runs no request twice and gives no second allowance because of a leap', async () => {
  await inBox(async ({ clock, start }) => {
    const kernel = await start()
    const claim = { scope: 'a'.repeat(64), bodySha256: 'b'.repeat(64) }
    const write = () =>
      kernel.mutations.run({
        principal: systemPrincipal('test'),
        action: 'test.write',
        target: 'x',
        owner: 'kernel',
        idempotency: claim,
        work: async () => ({ status: 201 }),
      })
    await write()
    clock.jump(START + 800 * DAY)
    assert.is((await kernel.mutations.stored(claim.scope))?.reply.status, 201)
    await kernel.mutations.sweep()
    await judgeOf(kernel).confirm()
    assert.is((await kernel.mutations.stored(claim.scope))?.reply.status, 201, 'after the confirmation')
    await kernel.mutations.sweep()
    const again = await start()
    assert.is((await again.mutations.stored(claim.scope))?.reply.status, 201, 'after a restart')
    await clock.advance(DAY)
    assert.is(await again.mutations.stored(claim.scope), undefined)
  })
})

/** What makes work due that was not: each row brings a kernel whose node certificate has ended into a state that is believed. */
const REASONS: Readonly<Record<string, (box: Box) => Promise<Kernel>>> = {
  'a start': async ({ machine, start, off }) => {
    machine.isKept = true
    await off(40 * DAY, false)
    const kernel = await start()
    kernel.begin()
    return kernel
  },
  'a confirmation after a start': async ({ clock, start, off }) => {
    await off(40 * DAY, true)
    const kernel = await start()
    kernel.begin()
    await clock.advance(60_000)
    assert.match(doubtOf(kernel), /40 days ahead/)
    await judgeOf(kernel).confirm()
    return kernel
  },
  'a time source that is heard again': async ({ clock, machine, start, off }) => {
    await off(30 * DAY, true)
    const kernel = await start()
    kernel.begin()
    await clock.advance(60_000)
    assert.match(doubtOf(kernel), /30 days ahead/)
    machine.isKept = true
    return kernel
  },
  'the end of a sleep': async ({ clock, machine, start }) => {
    const kernel = await start()
    kernel.begin()
    await clock.advance(60_000)
    clock.jump(clock.nowMs() + 40 * DAY)
    machine.upBeforeMs += 40 * DAY
    return kernel
  },
}
for (const [reason, happens] of Object.entries(REASONS)) {
  keeper(`does what has become due at ${reason}, and not a period later`, async () => {
    await inBox(async (box) => {
      const before = await box.start()
      before.begin()
      const { certificateExpiresAtMs: endMs } = before.identity
      const kernel = await happens(box)
      const happenedMs = box.clock.monotonicMs()
      await eventually(async () => {
        await box.clock.advance(6_000)
        assert.ok(kernel.identity.certificateExpiresAtMs > endMs)
      })
      assert.ok(box.clock.monotonicMs() - happenedMs < HOUR / 2, 'its period is an hour')
      assert.ok(kernel.identity.certificateExpiresAtMs > kernel.clock.nowMs())
    })
  })
}

keeper.run()
