import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser as PlaywrightBrowser } from 'playwright-core'
import { BROWSER_FLAGS, findWholeBrowser } from './browser.ts'

const START_LIMIT_MS = 180_000

/** A home whose browser believes a CA, and has the certificate of an archive where one is given. */
export interface BrowserHome {
  readonly folder: string
  readonly ca: string
  /** PKCS#12, RFC 7292. */
  readonly archive?: { readonly file: string; readonly passphrase: string }
}

/** Whether a browser and the programs for its certificates are here. In CI the programs must be where the browser is. */
export function hasCertifiedBrowser(): boolean {
  if (findWholeBrowser() === undefined) return false
  const isHere = ['certutil', 'pk12util', 'unshare'].every(
    (name) => spawnSync(name, ['-H']).error === undefined,
  )
  if (!isHere && process.env.CI === 'true')
    throw new Error('needs certutil and pk12util: apt install libnss3-tools')
  return isHere
}

/**
 * Starts the browser in that home. It chooses a certificate without asking anybody, as a policy of its machine says, which
 * only it sees: it has mounts of its own.
 */
export async function openCertifiedBrowser(home: BrowserHome): Promise<PlaywrightBrowser> {
  const { folder, ca, archive } = home
  const store = join(folder, '.pki', 'nssdb')
  mkdirSync(store, { recursive: true })
  const nss = (program: string, ...args: readonly string[]): void => {
    execFileSync(program, ['-d', `sql:${store}`, ...args], { stdio: 'pipe' })
  }
  nss('certutil', '-N', '--empty-password')
  nss('certutil', '-A', '-t', 'C,,', '-n', 'ca', '-i', ca)
  if (archive !== undefined) nss('pk12util', '-i', archive.file, '-W', archive.passphrase, '-K', '')
  const policies = join(folder, 'policies', 'managed')
  mkdirSync(policies, { recursive: true })
  const choice = JSON.stringify({ pattern: '*', filter: {} })
  writeFileSync(join(policies, 'choice.json'), JSON.stringify({ AutoSelectCertificateForUrls: [choice] }))
  return await chromium.launch({
    executablePath: wrapperIn(folder),
    args: [...BROWSER_FLAGS],
    env: { ...process.env, HOME: folder },
    timeout: START_LIMIT_MS,
  })
}

function wrapperIn(folder: string): string {
  const path = join(folder, 'browser.sh')
  const flags = process.getuid?.() === 0 ? '-m' : '-rm'
  const mount = `mkdir -p /etc/chromium/policies && mount --bind '${folder}/policies' /etc/chromium/policies`
  const lines = [
    '#!/bin/sh',
    `exec unshare ${flags} sh -c "${mount} && exec ${findWholeBrowser()} \\"\\$@\\"" sh "$@"`,
    '',
  ]
  writeFileSync(path, lines.join('\n'), { mode: 0o755 })
  return path
}
