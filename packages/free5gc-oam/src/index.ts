export {
  type ChargingRun,
  type Free5gcOam,
  free5gcOamRef,
  type PduSession,
  type Registration,
  type RegistrationList,
  type SmfSession,
} from './oam-ref.ts'
export { type SharedList, sharedList } from './shared-list.ts'
