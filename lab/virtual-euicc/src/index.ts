export { CertificateError, ChainError, type Curve, type EuiccChain } from './certificate.ts'
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
export { createEuicc, type Euicc, type EuiccOptions } from './euicc.ts'
export { type EuiccFile, type KeptEuicc, newEuiccFile, openEuiccFile, writeEuiccFile } from './euicc-file.ts'
export {
  type ActivationCode,
  ActivationCodeError,
  authenticateServerOn,
  type CancelReason,
  cancelSessionOn,
  challengeOf,
  type Download,
  type DownloadOptions,
  deleteOn,
  deliverNotifications,
  disableOn,
  downloadProfile,
  enableOn,
  hashedConfirmationCode,
  info1Of,
  LpaError,
  type LpaStep,
  notificationsOn,
  type PendingNotification,
  prepareDownloadOn,
  profilesOn,
  readActivationCode,
  removeOn,
  retrieveOn,
  type ServerAuthentication,
  segmentsOf,
} from './lpa.ts'
export { type Metadata, type NotificationTarget, type NotifiedEvent, readMetadata } from './metadata.ts'
export { type ProfileContent, readProfilePackage } from './profile-package.ts'
export type { InstalledProfile } from './profiles.ts'
export type { SavedMemory } from './state.ts'
