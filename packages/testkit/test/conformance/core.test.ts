import { createHash } from 'node:crypto'
import { type CoreDriver, type Imsi, type Rendered, southboundUnavailable } from '@steeple/contracts'
import { coreDriverConformance } from '../../src/index.ts'

coreDriverConformance('a core in memory', async () => {
  let applied: Rendered | undefined
  let isBroken = false
  const driver: CoreDriver = {
    render: async (desired) => {
      const text = JSON.stringify(desired)
      return {
        files: new Map([['core.json', text]]),
        sha256: createHash('sha256').update(text).digest('hex'),
      }
    },
    observe: async (signal) => {
      signal.throwIfAborted()
      const services = new Map([['mme', 'up'] as const])
      return { configSha256: applied?.sha256, services, radios: 0, attachedUes: 0 }
    },
    apply: async (config, signal) => {
      signal.throwIfAborted()
      if (isBroken) throw southboundUnavailable('the core does not answer')
      applied = config
    },
    kick: async (_imsi, signal) => {
      signal.throwIfAborted()
      return 'not_attached'
    },
    ues: async (signal) => {
      signal.throwIfAborted()
      return []
    },
  }
  const desired = {
    plmn: { mcc: '999', mnc: '99' },
    tac: 7,
    apns: ['internet'],
    maxUes: 8,
    addresses: { mme: '127.0.0.2' },
  }
  return {
    driver,
    desired,
    otherDesired: { ...desired, tac: 8 },
    // A test IMSI of the test network 999-99.
    stranger: '999990000000001' as Imsi,
    failNextApply: async () => {
      isBroken = true
    },
    world: async () => applied?.sha256 ?? 'nothing',
    close: async () => undefined,
  }
})
