import { type HssFixture, hssDriverConformance } from '@steeple/testkit'
import type { DocumentLink } from '../../src/links/document-link.ts'
import { engineHost } from '../../src/links/engine-host.ts'
import { mongoLink } from '../../src/links/mongo-link.ts'
import { shellLink } from '../../src/links/shell-link.ts'
import { open5gsDriver } from '../../src/open5gs/open5gs-driver.ts'
import { lookInto, open5gsKeys } from '../support/database.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { startEngine } from '../support/stand-in-engine.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

async function fixture(name: string, link: DocumentLink, after: () => Promise<void>): Promise<HssFixture> {
  const mongo = await sharedMongo()
  const look = await lookInto(mongo.url('open5gs'))
  await look.clear()
  const driver = open5gsDriver({ name, link, slices: () => [{ sst: 1 }], cancelMs: 10 })
  return {
    driver,
    subscribers: [subscriber(1), subscriber(2)],
    stored: (imsi) => open5gsKeys(look, imsi),
    empty: () => look.clear(),
    world: () => look.world(),
    close: async () => {
      await driver.close()
      await look.close()
      await after()
    },
  }
}

hssDriverConformance('driver-hss over mongo_url', async () => {
  const mongo = await sharedMongo()
  return await fixture('docdb_shell', mongoLink(mongo.url('open5gs'), 'open5gs'), async () => undefined)
})

hssDriverConformance('driver-hss docdb_shell', async () => {
  const mongo = await sharedMongo()
  const engine = await startEngine(mongo.port)
  // A shell takes seconds to start, and longer on a busy machine.
  const link = shellLink(engineHost(engine.socket, 'mongo'), 'open5gs', { answerMs: 120_000 })
  return await fixture('docdb_shell', link, () => engine.close())
})
