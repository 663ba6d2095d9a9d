export { type ActivationCode, ActivationCodeError, readActivationCode } from './activation-code.ts'
export { CertificateError, type Curve } from './certificate.ts'
export { ChainError, type EuiccChain } from './chain.ts'
export {
  AUTHENTICATE_ERROR,
  BPP_COMMAND,
  BPP_ERROR,
  CANCEL_ERROR,
  CANCEL_REASON,
  type Code,
  CommandError,
  DOWNLOAD_ERROR,
  PROFILE_RESULT,
  STATUS,
} from './codes.ts'
export {
  type Es9Answer,
  type Es9Client,
  Es9Error,
  Es9Refused,
  type Es9Transport,
  es9Client,
  fetchTransport,
  octetsOf,
} from './es9-client.ts'
export {
  authenticateServerOn,
  cancelSessionOn,
  challengeOf,
  deleteOn,
  disableOn,
  enableOn,
  info1Of,
  notificationsOn,
  type PendingNotification,
  prepareDownloadOn,
  profilesOn,
  removeOn,
  retrieveOn,
  type ServerAuthentication,
} from './es10.ts'
export { createEuicc, type Euicc, type EuiccOptions } from './euicc.ts'
export { type EuiccFile, type KeptEuicc, newEuiccFile, openEuiccFile, writeEuiccFile } from './euicc-file.ts'
export {
  type CancelReason,
  type Download,
  type DownloadOptions,
  deliverNotifications,
  downloadProfile,
  hashedConfirmationCode,
  LpaError,
  type LpaStep,
} from './lpa.ts'
export { type Metadata, type NotificationTarget, type NotifiedEvent, readMetadata } from './metadata.ts'
export { type ProfileContent, readProfilePackage } from './profile-package.ts'
export type { InstalledProfile } from './profiles.ts'
export { segmentsOf } from './segments.ts'
export type { SavedMemory } from './state.ts'
