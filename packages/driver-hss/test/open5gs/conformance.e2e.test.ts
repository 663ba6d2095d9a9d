import { type HssFixture, hssDriverConformance } from '@steeple/testkit'
import type { DocumentLink } from '../../src/links/document-link.ts'
import { engineHost, mongoLink } from '../../src/links/links.ts'
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

/** How long a shell waits for the next test; then it ends, and this process can. */
const LEFT_MS = 2_000

/** A mongosh for one test after the other: a start takes a second of a processor. How shells come and go is tried in shell-link.e2e.test. */
const shells = keptShells()

function keptShells(): { take(): Promise<DocumentLink>; leave(): void } {
  let kept: { readonly link: DocumentLink; close(): Promise<void> } | undefined
  let leaving: NodeJS.Timeout | undefined
  const open = async () => {
    const engine = await startEngine((await sharedMongo()).port)
    // A shell takes seconds to start, and longer on a busy machine.
    const link = shellLink(engineHost(engine.socket, 'mongo'), 'open5gs', { answerMs: 120_000 })
    return { link, close: () => engine.close() }
  }
  return {
    take: async () => {
      clearTimeout(leaving)
      kept ??= await open()
      const { link } = kept
      // The driver of a test closes what it was given.
      return Object.create(link, { close: { value: async () => undefined } })
    },
    leave: () => {
      leaving = setTimeout(() => {
        const gone = kept
        kept = undefined
        void gone?.link.close().then(gone.close)
      }, LEFT_MS)
    },
  }
}

hssDriverConformance('driver-hss over mongo_url', async () => {
  const mongo = await sharedMongo()
  return await fixture('docdb_shell', mongoLink(mongo.url('open5gs'), 'open5gs'), async () => undefined)
})

hssDriverConformance('driver-hss docdb_shell', async () => {
  const link = await shells.take()
  return await fixture('docdb_shell', link, async () => shells.leave())
})
