export { findDaemons, type LookPlaces } from './adopt/find-daemons.ts'
export { type CoreReading, readCore, withKeys } from './adopt/found-core.ts'
export type { FoundCore, FoundDaemon } from './adopt/programs.ts'
export type { Daemon } from './config-set/daemon.ts'
export { renderedOf } from './config-set/files.ts'
export type { Limits } from './config-set/verify.ts'
export { type CoreFiles, createCoreFiles, restartsDown } from './core-files/core-files.ts'
export { errorWords } from './core-files/core-plan.ts'
export type { CoreFilesParts, PlacedDesired } from './core-files/core-set.ts'
export {
  coreEngine,
  looksOf,
  pagesOf,
  phonesOfOurs,
  recordRecall,
  runnersOf,
  workJudged,
} from './core-parts.ts'
export {
  type ContainerState,
  type CountingEngine,
  containerLook,
  countingEngine,
  dockerAt,
  type Engine,
  engineAt,
  engineProblem,
  lastWords,
  statusOf,
} from './engine/engine.ts'
export { systemdEngine } from './engine/systemd.ts'
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
export {
  type AttachWords,
  attachTeller,
  type DaemonLogs,
  daemonLogs,
  registrationReader,
} from './logs/daemon-logs.ts'
export { newLinesOfOutput } from './logs/log-output.ts'
export type { Connection, UeEntry } from './open5gs-info/entries.ts'
export { amfUe, enb, gaugeIn, gnb, mmeUe } from './open5gs-info/entries.ts'
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
export { type RegistrationWatch, registrationWatch, type SaidOfPhone } from './registration.ts'
export { type AddressRange, hostText, parseRange, rangeText } from './render/address-range.ts'
export {
  checkApns,
  checkMaxUes,
  checkPlmn,
  checkSlices,
  databaseHostProblem,
  type Found,
  mongoUrlParts,
  problemsError,
  type Section,
  shown,
  type YamlValue,
  yamlText,
} from './render/problems.ts'
export { abortable, listAgeMs, pause } from './time-limit.ts'
