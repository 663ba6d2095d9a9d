import { join } from 'node:path'
import { type CoreDesired, type Imsi, southboundUnavailable } from '@steeple/contracts'
import { coreDriverConformance, tempDir } from '@steeple/testkit'
import { readFolder } from '../src/config-folder.ts'
import { coreDriver } from '../src/core-driver.ts'

const desired: CoreDesired = {
  plmn: { mcc: '999', mnc: '99' },
  tac: 7,
  apns: ['internet', 'ims'],
  maxUes: 128,
  addresses: { mme: '127.0.0.2', sgwu: '127.0.0.6' },
}

coreDriverConformance('sample-plugin', async () => {
  const folder = await tempDir()
  const dir = join(folder.path, 'core')
  const state = { reloads: 0, isFailing: false }
  const reload = async (): Promise<void> => {
    state.reloads += 1
    if (!state.isFailing) return
    state.isFailing = false
    throw southboundUnavailable('the core refused its configuration')
  }
  return {
    driver: coreDriver({ dir, reload }),
    desired,
    otherDesired: { ...desired, tac: 8 },
    stranger: '999990000000001' as Imsi,
    failNextApply: async () => {
      state.isFailing = true
    },
    world: async () => JSON.stringify([[...(await readFolder(dir))], state.reloads]),
    close: () => folder.remove(),
  }
})
