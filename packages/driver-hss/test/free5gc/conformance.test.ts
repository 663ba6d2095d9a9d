import { type HssFixture, hssDriverConformance } from '@steeple/testkit'
import { free5gcDriver } from '../../src/free5gc/free5gc-driver.ts'
import { COLLECTIONS, ueIdOf } from '../../src/free5gc/names.ts'
import { mongoLink } from '../../src/links/mongo-link.ts'
import { lookInto } from '../support/database.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

for (const spelling of ['v4', 'v3'] as const) {
  hssDriverConformance(`driver-hss core_b ${spelling}`, async (): Promise<HssFixture> => {
    const mongo = await sharedMongo()
    const look = await lookInto(mongo.url('free5gc'))
    await look.clear()
    if (spelling === 'v3') {
      // A subscriber of the operator's own tells which release this is.
      await look.collection(COLLECTIONS.auth).insertOne({
        ueId: 'imsi-999990000009999',
        permanentKey: { permanentKeyValue: '00112233445566778899aabbccddeeff' },
        sequenceNumber: '000000000023',
      })
    }
    const driver = free5gcDriver({
      name: 'core_b',
      link: mongoLink(mongo.url('free5gc'), 'free5gc'),
      plmn: () => ({ mcc: '999', mnc: '99' }),
      slices: () => [{ sst: 1, sd: '010203' }],
    })
    return {
      driver,
      subscribers: [subscriber(1), subscriber(2)],
      storedSqn: async (imsi) => {
        const doc = await look.collection(COLLECTIONS.auth).findOne({ ueId: ueIdOf(imsi) })
        const text = spelling === 'v4' ? doc?.sequenceNumber?.sqn : doc?.sequenceNumber
        return typeof text === 'string' ? BigInt(`0x${text}`) : undefined
      },
      world: () => look.world(),
      close: async () => {
        await driver.close()
        await look.close()
      },
    }
  })
}
