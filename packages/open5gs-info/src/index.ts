export {
  type CoreInfo,
  coreInfo,
  type Generation,
  type InfoDaemon,
  type InfoPlaces,
  type PduSession,
  type SessionList,
  smfPdu,
} from './core-info.ts'
export { amfUe, type Connection, enb, gnb, mmeUe, type UeEntry } from './entries.ts'
export { gaugeIn } from './gauges.ts'
export { type CoreLook, type Open5gsInfo, open5gsInfo, open5gsInfoRef } from './info-ref.ts'
export type { UeList } from './joined-walk.ts'
export { httpGet, parsePage, recordOf } from './pages.ts'
export type { SharedWalk, Walked } from './shared-walk.ts'
