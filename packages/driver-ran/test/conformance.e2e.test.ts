import { ranDriverConformance } from '@steeple/testkit'
import { isAlive } from '../src/process/proc-fs.ts'
import { ranDriver } from '../src/ran-driver.ts'
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
