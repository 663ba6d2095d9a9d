export {
  type Bsp,
  bsp,
  type Cmac,
  cmac,
  type EncryptedTag,
  encryptedSegments,
  MAC_ONLY,
  MAX_ENCRYPTED,
  MAX_MAC_ONLY,
  MAX_SEGMENT,
  macOnlySegments,
} from './bsp.ts'
export { BspError } from './bsp-error.ts'
export {
  type BspKeys,
  eidOctets,
  KEY_LENGTH,
  KEY_TYPE,
  type OneTimeKey,
  oneTimeKey,
  type RspCurve,
  sessionKeys,
  wipeKeys,
  x963,
} from './bsp-keys.ts'
export { SIGNATURE, signP1363, verifyP1363 } from './bsp-sign.ts'
export { oidOctets, oidText } from './oid.ts'
export { child, lengthOctets, MAX_DEPTH, readAll, readOne, type Tlv, TlvError, tlv } from './tlv.ts'
export {
  type Certificate,
  CURVE_OIDS,
  isSignedBy,
  publicKeyOf,
  readCertificate,
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
export { X509Error } from './x509-error.ts'
export type { Extensions, KeyUsage } from './x509-extensions.ts'
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
export { type DistinguishedName, isSameName, isSameText, nameText } from './x509-name.ts'
export type { CertificateRole } from './x509-role.ts'
