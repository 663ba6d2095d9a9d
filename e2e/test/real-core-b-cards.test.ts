import { suite } from '@steeple/testkit'
import { coreServesCardsConformance } from '../containers/cards-conformance.ts'
import { startCardsNode } from '../containers/cards-world.ts'
import { givenFunctions, needFunctions, startCoreB } from '../containers/core-b-containers.ts'
import { type DataRepository, startDataRepository } from '../containers/data-repository.ts'
import { startDatabase } from '../containers/database.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine } from '../containers/own-machine.ts'
import { startUserPlane } from '../containers/user-plane.ts'
import type { Service } from '../harness/service.ts'

needFunctions()
enterOwnMachine(import.meta.filename)

const real = suite('e2e/real-core-b-cards')
const PATIENCE_MS = 180_000
const [NRF, UPF] = ['http://127.0.0.10:8000', '127.0.0.8']
/** Of the release beside the SMF's (3.4.2): UDM and AUSF are older and read its documents; NRF, PCF and AMF are newer and take its files. */
const PLAN = {
  release: '3.4.5',
  slices: [
    { sst: 1, sd: '010203' },
    { sst: 2, sd: '0a0b0c' },
  ],
}

const engine = await startPodman()
const userPlane = await startUserPlane(UPF)
const given = givenFunctions('nrf', 'pcf', 'amf', 'smf', 'udm', 'ausf')
const [core, database] = await Promise.all([startCoreB(engine, given), startDatabase()])
let service: Service
let udr: DataRepository | undefined
let hash: string

real.before(
  async () => {
    const node = await startCardsNode(engine, core, PLAN, PATIENCE_MS)
    service = node.service
    hash = await node.importIt()
    udr = await startDataRepository(database, { chargingNrfUrl: NRF })
  },
  { limitMs: 3 * PATIENCE_MS },
)

real.after(
  async () => {
    await service?.stop()
    udr?.close()
    userPlane.close()
    await database.close()
    await engine.close()
  },
  { limitMs: 360_000 },
)

coreServesCardsConformance(real, {
  engine,
  containers: core.containers,
  service: () => service,
  hash: () => hash,
  database,
  userPlane,
  ...PLAN,
})

real.run()
