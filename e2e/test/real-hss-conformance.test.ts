import { type HssDriver, hssDriverRef, type Imsi, type Subscriber } from '@steeple/contracts'
import { plugin } from '@steeple/driver-hss'
import {
  assert,
  eventually,
  fakeContext,
  type HssFixture,
  hssDriverConformance,
  suite,
} from '@steeple/testkit'
import { startDatabase } from '../containers/database.ts'
import { startPodman } from '../containers/engine.ts'
import { MONGO, runningShells, startMongoContainer } from '../containers/mongo-container.ts'
import { enterOwnMachine } from '../containers/own-machine.ts'

enterOwnMachine(import.meta.filename)

const [engine, database] = await Promise.all([startPodman(), startDatabase()])
await startMongoContainer(engine)

/** A subscriber with keys of its own. Fresh buffers at each call. */
function subscriber(index: number): Subscriber {
  return {
    imsi: `99999${String(index).padStart(10, '0')}` as Imsi, // digits by construction
    ki: Buffer.alloc(16, index + 1),
    opc: Buffer.alloc(16, index + 101),
    sqn: 4096n + 32n * BigInt(index),
    apns: ['internet', 'ims'],
    ambrBps: { up: 50_000_000, down: 100_000_000 },
    isBlocked: false,
  }
}

type Stored = HssFixture['stored']

function keys(ki: string, opc: string, sqn: bigint): Awaited<ReturnType<Stored>> {
  return { ki: Buffer.from(ki, 'hex'), opc: Buffer.from(opc, 'hex'), sqn }
}

const open5gsStored: Stored = async (imsi) => {
  const doc = await database.collection('open5gs', 'subscribers').findOne({ imsi })
  if (doc === null) return undefined
  return keys(doc.security.k, doc.security.opc, BigInt(String(doc.security.sqn)))
}

const free5gcStored: Stored = async (imsi) => {
  const collection = 'subscriptionData.authenticationData.authenticationSubscription'
  const doc = await database.collection('free5gc', collection).findOne({ ueId: `imsi-${imsi}` })
  if (doc === null) return undefined
  return keys(doc.encPermanentKey, doc.encOpcKey, BigInt(`0x${doc.sequenceNumber.sqn}`))
}

/** The driver as the service loads it, against the container. */
async function fixture(name: 'docdb_shell' | 'core_b', stored: Stored): Promise<HssFixture> {
  const databaseName = name === 'core_b' ? 'free5gc' : 'open5gs'
  await database.clear(databaseName)
  const hss = { driver: name, container: MONGO, engine_socket: engine.socket }
  const fake = fakeContext({ id: 'driver-hss', config: undefined, settings: { hss } })
  const instance = await plugin.setup(fake.context)
  return {
    // The service under its own ref.
    driver: instance.services?.get(hssDriverRef.id) as HssDriver,
    subscribers: [subscriber(1), subscriber(2)],
    stored,
    empty: () => database.clear(databaseName),
    world: async () => (await database.world(databaseName)).join('\n'),
    close: () => fake.dispose(),
  }
}

hssDriverConformance('docdb_shell in a container of podman', () => fixture('docdb_shell', open5gsStored))
hssDriverConformance('core_b in a container of podman', () => fixture('core_b', free5gcStored))

const last = suite('e2e/real-hss-conformance')
last.after(async () => {
  await database.close()
  await engine.close()
})
last('leaves no shell in the container after the driver is closed', () =>
  eventually(async () => assert.equal(runningShells(), [])),
)
last.run()
