import { ranDriverConformance } from '@steeple/testkit'
import { externalDriver } from '../src/external/external-driver.ts'
import { isAlive } from '../src/process/proc-fs.ts'
import { ranDriver } from '../src/ran-driver.ts'
import { cellWorld } from './external/support/cell-world.ts'
import { openLab, PROFILE } from './support/lab.ts'

ranDriverConformance('driver-ran', async () => {
  const lab = await openLab({ isDriven: false })
  const running = (): readonly number[] => lab.marks.filter((mark) => isAlive(mark)).map(({ pid }) => pid)
  return {
    driver: ranDriver(lab.context, lab.supervisor, true),
    profile: PROFILE,
    setArmed: async (isArmed) => {
      if (isArmed) lab.gate.arm('mast')
      else lab.gate.disarm()
    },
    radios: async () => running().length,
    crash: async () => {
      for (const pid of running()) process.kill(pid, 'SIGKILL')
    },
    world: async () => JSON.stringify({ running: running(), starts: lab.starts }),
    close: () => lab.close(),
  }
})

ranDriverConformance('driver-ran, external', async () => {
  const world = await cellWorld()
  world.meter = (isSending) => ({ of: 'power', isZero: !isSending, shown: isSending ? '9 W' : '0 W' })
  const driver = externalDriver(world.context, world.cell)
  let isDriven = false
  return {
    driver: {
      ...driver,
      start: async (profile, signal) => {
        await driver.start(profile, signal)
        if (!isDriven) world.drive()
        isDriven = true
      },
    },
    profile: PROFILE,
    setArmed: async (isArmed) => {
      if (isArmed) world.gate.arm('mast')
      else world.gate.disarm()
    },
    radios: async () => (world.isSending ? 1 : 0),
    crash: async () => {
      world.isSwitchedOn = false
    },
    silence: async (isSilent) => {
      world.isSilent = isSilent
    },
    patienceMs: 5_000,
    world: async () => JSON.stringify([world.isSwitchedOn, world.isCoreClosed]),
    close: () => world.close(),
  }
})
