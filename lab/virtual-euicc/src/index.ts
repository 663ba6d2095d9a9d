export { ChainError, type EuiccChain } from './certificate.ts'
export { Es9Error, Es9Refused, type Es9Transport, es9Client, fetchTransport } from './es9-client.ts'
export { createEuicc, type Euicc } from './euicc.ts'
export { type EuiccFile, type KeptEuicc, newEuiccFile, openEuiccFile, writeEuiccFile } from './euicc-file.ts'
export {
  ActivationCodeError,
  authenticateServerOn,
  cancelSessionOn,
  challengeOf,
  type Download,
  deleteOn,
  deliverNotifications,
  disableOn,
  downloadProfile,
  enableOn,
  info1Of,
  LpaError,
  notificationsOn,
  prepareDownloadOn,
  readActivationCode,
  retrieveOn,
  segmentsOf,
} from './lpa.ts'
export type { InstalledProfile } from './profiles.ts'
