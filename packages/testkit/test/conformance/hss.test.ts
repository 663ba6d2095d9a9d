import { HSS_CHECKS } from '../../src/conformance/hss-checks.ts'
import { hssDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryHssFixture } from './support/memory-hss.ts'
import { WRONG_HSS } from './support/wrong-hss.ts'

hssDriverConformance('an HSS in memory', () => memoryHssFixture())
findsAll('testkit/conformance/hss', HSS_CHECKS, WRONG_HSS, memoryHssFixture)
