import { suite } from '@steeple/testkit'
import { coreServesCardsConformance } from '../containers/cards-conformance.ts'
import { startCardsNode } from '../containers/cards-world.ts'
import {
  FURTHER_RELEASE,
  handBuiltFunctions,
  needFunctions,
  needFurtherFunctions,
  startCoreB,
} from '../containers/core-b-containers.ts'
import { startDatabase } from '../containers/database.ts'
import { startPodman } from '../containers/engine.ts'
import { enterOwnMachine } from '../containers/own-machine.ts'
import { startUserPlane } from '../containers/user-plane.ts'
import type { Service } from '../harness/service.ts'

needFunctions()
needFurtherFunctions()
enterOwnMachine(import.meta.filename)

const real = suite('e2e/real-core-b-functions')
const PATIENCE_MS = 180_000
const UPF = '127.0.0.8'
/** One slice with a differentiator, one without. */
const PLAN = { release: FURTHER_RELEASE, slices: [{ sst: 1, sd: '010203' }, { sst: 2 }] }

const engine = await startPodman()
const userPlane = await startUserPlane(UPF)
const [core, database] = await Promise.all([startCoreB(engine, handBuiltFunctions()), startDatabase()])
let service: Service
let hash: string

real.before(
  async () => {
    const node = await startCardsNode(engine, core, PLAN, PATIENCE_MS)
    service = node.service
    hash = await node.importIt()
  },
  { limitMs: 3 * PATIENCE_MS },
)

real.after(
  async () => {
    await service?.stop()
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
