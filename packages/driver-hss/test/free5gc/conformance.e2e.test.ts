import { type HssFixture, hssDriverConformance } from '@steeple/testkit'
import { free5gcDriver } from '../../src/free5gc/free5gc-driver.ts'
import { COLLECTIONS, ueIdOf } from '../../src/free5gc/names.ts'
import { mongoLink } from '../../src/links/links.ts'
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
    const driver = free5gcDriver({
      name: 'core_b',
      link: mongoLink(mongo.url('free5gc'), 'free5gc'),
      plmn: () => ({ mcc: '999', mnc: '99' }),
      slices: () => [{ sst: 1, sd: '010203' }],
      release: () => (spelling === 'v3' ? '3.4.5' : '4.2.3'),
    })
    return {
      driver,
      subscribers: [subscriber(1), subscriber(2)],
      stored: async (imsi) => {
        const doc = await look.collection(COLLECTIONS.auth).findOne({ ueId: ueIdOf(imsi) })
        if (doc === null) return undefined
        const [ki, opc, sqn] =
          doc.encPermanentKey !== undefined
            ? [doc.encPermanentKey, doc.encOpcKey, doc.sequenceNumber.sqn]
            : [doc.permanentKey.permanentKeyValue, doc.opc.opcValue, doc.sequenceNumber]
        return { ki: Buffer.from(ki, 'hex'), opc: Buffer.from(opc, 'hex'), sqn: BigInt(`0x${sqn}`) }
      },
      empty: async () => {
        for (const name of Object.values(COLLECTIONS)) await look.collection(name).deleteMany({})
      },
      world: () => look.world(),
      close: async () => {
        await driver.close()
        await look.close()
      },
    }
  })
}
