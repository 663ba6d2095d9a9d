import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** What is wrong with one of the two files. Holds nothing of a key. */
export interface FileProblem {
  readonly file: 'cert_file' | 'key_file'
  readonly message: string
}

/** A certificate with those above it, and its key: PEM. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** Reads and checks both files. The certificate of the listener stands first in its file (RFC 8446 §4.4.2). */
export function readCertificateFiles(certFile: string, keyFile: string): CertificateFiles | FileProblem {
  const cert = textOf('cert_file', certFile)
  if (typeof cert !== 'string') return cert
  const key = textOf('key_file', keyFile)
  if (typeof key !== 'string') return key
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch {
    return { file: 'cert_file', message: `is ${certFile}, which holds no certificate (PEM)` }
  }
  let privateKey: KeyObject
  try {
    privateKey = createPrivateKey(key)
  } catch {
    return {
      file: 'key_file',
      message: `is ${keyFile}, which holds no private key (PEM, without a passphrase)`,
    }
  }
  if (certificate.checkPrivateKey(privateKey)) return { cert, key }
  return {
    file: 'key_file',
    message: `is ${keyFile}, which is not the key of the first certificate in ${certFile}`,
  }
}

/** As `readCertificateFiles`; undefined when nothing is wrong. */
export function certificateProblem(certFile: string, keyFile: string): FileProblem | undefined {
  const read = readCertificateFiles(certFile, keyFile)
  return 'file' in read ? read : undefined
}

function textOf(file: FileProblem['file'], path: string): string | FileProblem {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code = 'it cannot be read' } = error as NodeJS.ErrnoException
    return { file, message: `is ${path}, which cannot be read (${code})` }
  }
}
