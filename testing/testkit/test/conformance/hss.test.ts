import { HSS_CHECKS } from '../../src/conformance/hss-checks.ts'
import { HSS_MUTANTS } from '../../src/conformance/hss-mutants.ts'
import { wrongDriver } from '../../src/conformance/mutants.ts'
import { hssDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryHss, memoryHssFixture } from './support/memory-hss.ts'
import { WRONG_HSS, type WrongHss } from './support/wrong-hss.ts'

/** Those that an author has tried on his own driver, on the one in memory. */
const mutants = HSS_MUTANTS.map((mutant): readonly [string, WrongHss] => [
  `${mutant.what} (mutant)`,
  (rows) => wrongDriver(memoryHss(rows), mutant),
])

hssDriverConformance('an HSS in memory', () => memoryHssFixture())
findsAll(
  'testkit/conformance/hss',
  HSS_CHECKS,
  { ...WRONG_HSS, ...Object.fromEntries(mutants) },
  memoryHssFixture,
)
