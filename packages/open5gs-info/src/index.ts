export {
  type CoreInfo,
  coreInfo,
  type Generation,
  type InfoDaemon,
  type InfoPlaces,
  type SessionList,
} from './core-info.ts'
export { amfUe, type Connection, enb, gnb, mmeUe, type UeEntry } from './entries.ts'
export { gaugeIn } from './gauges.ts'
export { httpGet } from './http-get.ts'
export { type CoreLook, type Open5gsInfo, open5gsInfo, open5gsInfoRef } from './info-ref.ts'
export type { UeList } from './joined-walk.ts'
export { parsePage, recordOf } from './pages.ts'
export { type PduSession, smfPdu } from './sessions.ts'
export type { SharedWalk, Walked } from './shared-walk.ts'
