import type { RadioProfile, TxGate } from '@steeple/contracts'
import { fakeClock, fakeContext } from '@steeple/testkit'
import { type Launch, launcher } from '../src/radio-process.ts'
import { ranDriver } from '../src/ran-driver.ts'

export const profile: RadioProfile = { technology: 'lte', channel: 1300, bandwidth_mhz: 5 }

/** A driver with a gate that the test opens, over the real stand-in process, whose pids are noted past the driver. */
export function radioFixture() {
  const state = { isArmed: false, pids: [] as number[] }
  const gate: TxGate = {
    state: async () => ({
      armed: state.isArmed,
      gates: { country_code: 'set', license_ack: 'set', allow_list: 'set' },
      profile: state.isArmed ? 'lab' : undefined,
      transmitter: state.isArmed ? 'on' : 'off',
    }),
    permit: async () => profile,
    permitCarrier: async () => undefined,
  }
  const start = launcher([])
  const launch: Launch = async (wanted) => {
    const radio = await start(wanted)
    state.pids.push(radio.pid)
    return radio
  }
  const clock = fakeClock()
  const { log } = fakeContext({ config: {} }).context
  return { ...ranDriver({ gate, launch, clock, log }), state, clock }
}

/** Whether a process with that id is there. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
