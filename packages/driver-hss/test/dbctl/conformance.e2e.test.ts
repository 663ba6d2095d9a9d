import { hssDriverConformance } from '@steeple/testkit'
import { dbctlDriver } from '../../src/dbctl/dbctl-driver.ts'
import type { RunTool } from '../../src/dbctl/run-tool.ts'
import { dbctlTool } from '../../src/dbctl/tool.ts'
import { mongoLink } from '../../src/links/links.ts'
import { open5gsDriver } from '../../src/open5gs/open5gs-driver.ts'
import { lookInto, open5gsKeys } from '../support/database.ts'
import { dbctlFixture, makeDbctl, makeMongoDbctl, runTool } from '../support/dbctl-tool.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

hssDriverConformance('driver-hss dbctl with a compatible tool', async () => {
  const tool = await makeDbctl('extras')
  // Runs in this process: twenty starts of a program take their time. Real runs are in dbctl-driver.test.ts.
  const run: RunTool = async (args, signal) => {
    signal.throwIfAborted()
    return { ...(await runTool(args, 'extras', tool.store)), errors: '' }
  }
  const driver = dbctlDriver({
    path: tool.path,
    url: '',
    documents: undefined,
    tool: dbctlTool(tool.path, '', run),
  })
  return dbctlFixture(tool, driver)
})

hssDriverConformance(
  'driver-hss dbctl with the stock tool and mongo_url',
  async () => {
    const mongo = await sharedMongo()
    const url = mongo.url('open5gs')
    const look = await lookInto(url)
    await look.clear()
    const tool = await makeMongoDbctl()
    const documents = open5gsDriver({
      name: 'dbctl',
      link: mongoLink(url, 'open5gs'),
      slices: () => [{ sst: 1 }],
      cancelMs: 10,
    })
    const driver = dbctlDriver({ path: tool.path, url, documents })
    return {
      driver,
      subscribers: [subscriber(1), subscriber(2)],
      // Each costs the start of the tool, at each call.
      many: 4,
      stored: (imsi) => open5gsKeys(look, imsi),
      empty: () => look.clear(),
      world: () => look.world(),
      close: async () => {
        await driver.close()
        await look.close()
        await tool.remove()
      },
    }
  },
  // Each step of each subscriber starts the tool.
  { limitMs: 360_000 },
)
