import { ranDriverConformance } from '@steeple/testkit'
import { isAlive, profile, radioFixture } from './radio-fixture.ts'

ranDriverConformance('sample-plugin', async () => {
  const { driver, state } = radioFixture()
  return {
    driver,
    profile,
    setArmed: async (isArmed) => {
      state.isArmed = isArmed
    },
    radios: async () => state.pids.filter(isAlive).length,
    crash: async () => {
      for (const pid of state.pids.filter(isAlive)) process.kill(pid, 'SIGKILL')
    },
    world: async () => JSON.stringify(state.pids.filter(isAlive)),
    close: () => driver.stop(AbortSignal.timeout(4000)),
  }
})
