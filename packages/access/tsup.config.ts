import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

/** What passkeys need, with what reads attestations by itself. */
const CEREMONIES = [
  'generateAuthenticationOptions',
  'generateRegistrationOptions',
  'verifyAuthenticationResponse',
  'verifyRegistrationResponse',
]
const ATTESTATIONS = { '@simplewebauthn/server/helpers': ['decodeAttestationObject', 'isoBase64URL'] }

export default defineConfig({
  entry: ['src/plugin.ts', 'src/offline.ts'],
  ...MODULE,
  noExternal: ['jose', 'qrcode', /^@simplewebauthn\/server/],
  esbuildPlugins: [
    oneFile('jose', { names: ['errors', 'jwtVerify', 'SignJWT'] }),
    oneFile('qrcode', { names: ['create'] }),
    oneFile('@simplewebauthn/server', { names: CEREMONIES, beside: ATTESTATIONS }),
  ],
})
