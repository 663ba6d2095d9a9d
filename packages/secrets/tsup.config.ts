import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

/** What issues certificates, requests and revocation lists has of it. */
const X509 = [
  'AuthorityKeyIdentifierExtension',
  'BasicConstraintsExtension',
  'ExtendedKeyUsage',
  'ExtendedKeyUsageExtension',
  'Extension',
  'ExtensionsAttribute',
  'IssuerAlternativeNameExtension',
  'KeyUsageFlags',
  'KeyUsagesExtension',
  'Pkcs10CertificateRequest',
  'Pkcs10CertificateRequestGenerator',
  'SubjectAlternativeNameExtension',
  'SubjectKeyIdentifierExtension',
  'X509Certificate',
  'X509CertificateGenerator',
  'X509Crl',
  'X509CrlGenerator',
]

export default defineConfig({
  entry: ['src/index.ts'],
  ...MODULE,
  noExternal: ['@peculiar/x509', 'reflect-metadata'],
  esbuildPlugins: [oneFile('@peculiar/x509', { names: X509, before: ['reflect-metadata'] })],
})
