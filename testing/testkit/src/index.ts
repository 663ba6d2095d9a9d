import * as assert from 'uvu/assert'

export { bodyOf, codeOf } from './answers.ts'
export {
  type BegunSession,
  type CollectedSessions,
  type CollectedTraffic,
  type CollectorFixture,
  collectorConformance,
} from './conformance/collector-checks.ts'
export type { WorldFixture } from './conformance/common.ts'
export { type CoreFixture, type CorePhones, coreDriverConformance } from './conformance/core.ts'
export { type FeatureFixture, featureConformance } from './conformance/feature.ts'
export { type HssFixture, hssDriverConformance, type StoredKeys } from './conformance/hss.ts'
export { type RanFixture, ranDriverConformance } from './conformance/ran.ts'
export { type MemoryDb, memoryDb, releaseConformance } from './conformance/releases.ts'
export {
  bitsOf,
  characterAt,
  LAST_CHARACTER,
  placeOfCharacter,
  rounds,
  seededDraw,
  testSeed,
} from './drawn.ts'
export { eventually } from './eventually.ts'
export { failureOf, patient } from './failure.ts'
export {
  type FakeClock,
  type FakeTimer,
  fakeClock,
  letTimePass,
  reconcileOne,
  type Timers,
} from './fake-clock.ts'
export {
  type Enqueued,
  type FakeContext,
  type FakeContextOptions,
  type FakeMetrics,
  type FakeMutation,
  fakeContext,
  fakeMetrics,
  type LogLine,
} from './fake-context.ts'
export {
  driverPlugin,
  type FakeCore,
  type FakeHss,
  fakeCore,
  fakeHss,
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
} from './fake-drivers.ts'
export {
  enterOwnMachine,
  enterOwnMounts,
  enterOwnNetwork,
  hasBlockMounts,
  runTool,
} from './own-place.ts'
export { type Listening, listen, unusedPort } from './ports.ts'
export { defaultSettings, type Overrides } from './settings.ts'
export { cpuMs, stretched } from './stretched.ts'
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
/** The assertions of uvu. */
export { assert }
