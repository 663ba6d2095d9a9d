export {
  type ChargingRun,
  type Free5gcOam,
  free5gcOamRef,
  type PduSession,
  type Registration,
  type RegistrationList,
  type SharedList,
  type SmfSession,
  sharedList,
} from './shared-list.ts'
