import { COLLECTOR_CHECKS } from '../../src/conformance/collector-checks.ts'
import { collectorConformance } from '../../src/index.ts'
import { findsAll } from './support/finds-all.ts'
import { memoryCollector, memoryCollectorFixture } from './support/memory-collector.ts'
import { WRONG_COLLECTORS } from './support/wrong-collector.ts'

for (const counting of ['total', 'delta', 'none'] as const) {
  collectorConformance(`a source in memory, volumes: ${counting}`, () =>
    memoryCollectorFixture(counting, memoryCollector),
  )
}
findsAll('testkit/conformance/collector', COLLECTOR_CHECKS, WRONG_COLLECTORS, ({ counting, make }) =>
  memoryCollectorFixture(counting, make),
)
