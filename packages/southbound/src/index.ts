export type { ApplyOptions } from './config-set/apply.ts'
export { applyConfigSet } from './config-set/apply.ts'
export type { DaemonChange, FileChange } from './config-set/changes.ts'
export type { ConfigSet } from './config-set/config-set.ts'
export type { Daemon, Drops } from './config-set/daemon.ts'
export { type ConfigSetPlan, planConfigSet } from './config-set/plan.ts'
export { renderedOf } from './config-set/sha256.ts'
export type { Limits, Probe } from './config-set/verify.ts'
export { type CoreFiles, createCoreFiles, errorWords } from './core-files/core-files.ts'
export type { CoreFilesParts, CorePlace, PlacedDesired } from './core-files/parts.ts'
export { containersOf, pagesOf } from './doctor.ts'
export { containerLook } from './engine/container-look.ts'
export {
  type ContainerState,
  dockerAt,
  type Engine,
  engineAt,
  engineProblem,
  statusOf,
} from './engine/engine.ts'
export { lastWords } from './engine/last-words.ts'
export type {
  ChargingRun,
  Free5gcOam,
  Registration,
  RegistrationList,
  SharedList,
  SmContext,
  SmfSession,
} from './free5gc-oam/shared-list.ts'
export { free5gcOamRef, sharedList } from './free5gc-oam/shared-list.ts'
export { newLinesOfFile } from './logs/log-file.ts'
export { newLinesOfOutput } from './logs/log-output.ts'
export type { NewLines } from './logs/new-lines.ts'
export { phonesOfOurs, recordRecall } from './mend/our-phones.ts'
export { openPlain } from './open-plain.ts'
export type { Connection, UeEntry } from './open5gs-info/entries.ts'
export { amfUe, enb, gnb, mmeUe } from './open5gs-info/entries.ts'
export { gaugeIn } from './open5gs-info/gauges.ts'
export type {
  CoreInfo,
  CoreLook,
  Generation,
  InfoPlaces,
  Open5gsInfo,
  PduSession,
  SessionList,
  SharedWalk,
  UeList,
  Walked,
} from './open5gs-info/info-ref.ts'
export { coreInfo, open5gsInfo, open5gsInfoRef, smfPdu } from './open5gs-info/info-ref.ts'
export { httpGet, parsePage, recordOf } from './open5gs-info/pages.ts'
export { checkApns, checkPlmn, checkSlices, type Found, shown } from './render/problems.ts'
export { type Section, type YamlValue, yamlText } from './render/yaml-text.ts'
export { abortable, listAgeMs, pause } from './time-limit.ts'
export { type WorkJudged, workJudged } from './work-judged.ts'
