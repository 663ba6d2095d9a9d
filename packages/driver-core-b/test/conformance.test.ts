import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { coreDriverConformance } from '@steeple/testkit'
import { attach, imsiOf, refOf } from './support/clients.ts'
import { desiredWith } from './support/desired.ts'
import { makeWorld } from './support/world.ts'

async function filesOf(dir: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true })
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), 'utf8')] as const)),
  )
}

coreDriverConformance('free5GC', async () => {
  const { core, engine, b, dir, text, close } = await makeWorld()
  attach(core, imsiOf(1), 1)
  let last = 1
  return {
    driver: b.driver,
    desired: desiredWith(),
    otherDesired: desiredWith({ tac: 8 }),
    stranger: imsiOf(99),
    phones: {
      apns: ['internet'],
      attach: async () => {
        last += 1
        attach(core, imsiOf(last), last)
        return imsiOf(last)
      },
      isAttached: async (imsi) => {
        const number = Number(imsi.slice(-4))
        return core.ues.has(`imsi-${imsi}`) || core.sessions.has(refOf(number))
      },
      stay: async () => {
        Object.assign(core.behaviour, { losesReleases: true, keepsSessions: true })
      },
      fallSilent: async () => {
        await Promise.all([core.stop('amf'), core.stop('smf')])
      },
    },
    configFiles: () => filesOf(dir),
    world: text,
    failNextApply: async () => engine.refuseNext('no such image'),
    close,
  }
})
