import { join } from 'node:path'
import { type CoreDesired, coreConfigRefused, type Imsi } from '@steeple/contracts'
import { coreDriverConformance, tempDir } from '@steeple/testkit'
import { readFolder } from '../src/config-folder.ts'
import { coreDriver } from '../src/core-driver.ts'

const desired: CoreDesired = {
  plmn: { mcc: '999', mnc: '99' },
  tac: 7,
  apns: ['internet', 'ims'],
  maxUes: 128,
}

/** The suite says it of what is not written yet. */
async function toWrite(what: string): Promise<never> {
  throw new Error(`here is what to write: ${what}`)
}

coreDriverConformance('sample-plugin', async () => {
  const folder = await tempDir()
  const dir = join(folder.path, 'core')
  const state = { reloads: 0, isFailing: false }
  const reload = async (): Promise<void> => {
    state.reloads += 1
    if (!state.isFailing) return
    state.isFailing = false
    throw coreConfigRefused('the core refused its configuration')
  }
  return {
    driver: coreDriver({ dir, reload }),
    desired,
    otherDesired: { ...desired, tac: 8 },
    stranger: '999990000000001' as Imsi,
    phones: {
      apns: ['internet'],
      attach: () => toWrite('attach in this fixture has a phone attach to a core, simulated or real'),
      isAttached: () => toWrite('isAttached in this fixture asks that core past the driver'),
      stay: () =>
        toWrite(
          'stay in this fixture has that core say that it lets a phone go, and keep it; leave it out if it cannot',
        ),
      fallSilent: () => toWrite('fallSilent in this fixture keeps that core from answering'),
    },
    configFiles: () => readFolder(dir),
    failNextApply: async () => {
      state.isFailing = true
    },
    world: async () => JSON.stringify([[...(await readFolder(dir))], state.reloads]),
    close: () => folder.remove(),
  }
})
