import * as assert from 'uvu/assert'

export { type CollectorFixture, collectorConformance } from './conformance/collector.ts'
export type { WorldFixture } from './conformance/common.ts'
export { type CoreFixture, coreDriverConformance } from './conformance/core.ts'
export { type FeatureFixture, featureConformance } from './conformance/feature.ts'
export { type HssFixture, hssDriverConformance } from './conformance/hss.ts'
export { type RanFixture, ranDriverConformance } from './conformance/ran.ts'
export { eventually } from './eventually.ts'
export { type FakeClock, type FakeTimer, fakeClock, type Timers } from './fake-clock.ts'
export {
  type FakeContext,
  type FakeContextOptions,
  type FakeMutation,
  fakeContext,
  type LogLine,
} from './fake-context.ts'
export { type FakeMetrics, fakeMetrics } from './fake-metrics.ts'
export { type MemoryDb, memoryDb } from './memory-db.ts'
export { defaultSettings, type Overrides } from './settings.ts'
export {
  type Body,
  type BodyOptions,
  DEFAULT_LIMIT_MS,
  limited,
  type Suite,
  type SuiteHook,
  suite,
} from './suite.ts'
export { type TempDir, tempDir } from './temp-dir.ts'
export {
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  type Testbed,
  type TestbedModule,
  type TestbedOptions,
  type TestbedPlugin,
  type TestPrincipal,
  type TestRequest,
  type TestResponse,
} from './testbed.ts'
/** The assertions of uvu. */
export { assert }
