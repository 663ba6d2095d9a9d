export {
  type Bsp,
  BspError,
  type BspKeys,
  bsp,
  type Cmac,
  cmac,
  type EncryptedTag,
  eidOctets,
  encryptedSegments,
  KEY_LENGTH,
  KEY_TYPE,
  MAC_ONLY,
  MAX_ENCRYPTED,
  MAX_MAC_ONLY,
  MAX_SEGMENT,
  macOnlySegments,
  type OneTimeKey,
  oneTimeKey,
  type RspCurve,
  sessionKeys,
  wipeKeys,
  x963,
} from './bsp.ts'
export { SIGNATURE, signP1363, verifyP1363 } from './bsp-sign.ts'
export { oidOctets, oidText } from './oid.ts'
export { child, lengthOctets, MAX_DEPTH, readAll, readOne, type Tlv, TlvError, tlv } from './tlv.ts'
export type { CertificateRole, Extensions, KeyUsage } from './x509.ts'
export {
  type Certificate,
  CURVE_OIDS,
  type DistinguishedName,
  isSameName,
  isSameText,
  isSignedBy,
  nameText,
  publicKeyOf,
  readCertificate,
  X509Error,
} from './x509.ts'
export {
  type ChainProblem,
  checkEuiccChain,
  type EuiccChain,
  type EuiccIdentity,
  type VerifiedCertificate,
  type VerifiedCertificates,
  verifiedCertificates,
} from './x509-chain.ts'
export {
  isListSignedBy,
  isRevocationList,
  type RevocationList,
  readRevocationList,
} from './x509-crl.ts'
export type { NameParts } from './x509-issue.ts'
export {
  type Issued,
  type IssueTerms,
  issueCi,
  issueDp,
  issueEuicc,
  issueEum,
  issueRevocationList,
  issueTls,
  newKey,
} from './x509-issue.ts'
