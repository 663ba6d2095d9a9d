export {
  type Bsp,
  BspError,
  type BspKeys,
  bsp,
  encryptedSegments,
  KEY_LENGTH,
  KEY_TYPE,
  macOnlySegments,
  type OneTimeKey,
  oneTimeKey,
  type RspCurve,
  sessionKeys,
  wipeKeys,
} from './bsp.ts'
export { signP1363, verifyP1363 } from './bsp-sign.ts'
export { oidOctets } from './oid.ts'
export { child, readAll, readOne, type Tlv, TlvError, tlv } from './tlv.ts'
export {
  type Certificate,
  isSameName,
  isSignedBy,
  nameText,
  publicKeyOf,
  readCertificate,
  X509Error,
} from './x509.ts'
export {
  checkEuiccChain,
  type EuiccIdentity,
  isListSignedBy,
  isRevocationList,
  type RevocationList,
  readRevocationList,
  type VerifiedCertificates,
  verifiedCertificates,
} from './x509-chain.ts'
export {
  type Issued,
  issueCi,
  issueDp,
  issueEuicc,
  issueEum,
  issueRevocationList,
  issueTls,
  newKey,
} from './x509-issue.ts'
