import { generateKeyPairSync } from 'node:crypto'
import { createKeyFile, readKeyFile } from './key-files.ts'

/**
 * Home network keys, by which phones conceal who they are. TS 33.501 annex C.3.4: profile A is X25519, profile B is P-256.
 * In the two forms that Open5GS reads.
 */
const HOME_KEYS = { 'hnet-1.key': profileA, 'hnet-2.key': profileB } as const

/** Throws `secrets_invalid` when one that is there is open to others. */
export function checkHomeKeys(directory: string): void {
  for (const file of Object.keys(HOME_KEYS)) readKeyFile(directory, file)
}

/** Makes those that are absent: a key that is on cards must stay. */
export function makeHomeKeys(directory: string): void {
  for (const [file, make] of Object.entries(HOME_KEYS))
    if (readKeyFile(directory, file) === undefined) createKeyFile(directory, file, Buffer.from(make()))
}

function profileA(): string {
  return String(generateKeyPairSync('x25519').privateKey.export({ format: 'pem', type: 'pkcs8' }))
}

function profileB(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return String(privateKey.export({ format: 'pem', type: 'sec1' }))
}
