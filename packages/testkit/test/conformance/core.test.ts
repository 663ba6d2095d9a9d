import { CORE_CHECKS } from '../../src/conformance/core-checks.ts'
import { coreDriverConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryCoreFixture } from './support/memory-core.ts'
import { WRONG_CORES } from './support/wrong-core.ts'

coreDriverConformance('a core in memory', () => memoryCoreFixture())
findsAll('testkit/conformance/core', CORE_CHECKS, WRONG_CORES, memoryCoreFixture)
