import { coreDriverConformance } from '@steeple/testkit'
import { attach, imsiOf } from './support/clients.ts'
import { desiredWith } from './support/desired.ts'
import { makeWorld } from './support/world.ts'

coreDriverConformance('free5GC', async () => {
  const { core, engine, b, text, close } = await makeWorld()
  attach(core, imsiOf(1), 1)
  return {
    driver: b.driver,
    desired: desiredWith(),
    otherDesired: desiredWith({ tac: 8 }),
    stranger: imsiOf(99),
    world: text,
    failNextApply: async () => engine.refuseNext('no such image'),
    close,
  }
})
