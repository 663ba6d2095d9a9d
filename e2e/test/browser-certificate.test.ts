import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import type { Browser } from 'playwright-core'
import { hasCertifiedBrowser, openCertifiedBrowser } from '../harness/browser.ts'
import { urlOf } from '../harness/launch.ts'
import { ask } from '../harness/node-client.ts'
import { runSvc, startedProcesses } from '../harness/service.ts'

const ADMIN = 'browser-certificate-token-0123456789'
const ACTION = { timeout: 300_000 }

const browsers = suite('e2e/browser-certificate', { limitMs: 600_000 })
const started = startedProcesses()

let root: string
let url: string
let ca: string

/** What a browser is shown at a path of the service. */
async function seen(browser: Browser, path: string): Promise<Readonly<Record<string, unknown>>> {
  const page = await browser.newPage()
  try {
    const answer = await page.goto(url + path, ACTION)
    const tls = await answer?.securityDetails()
    // An answer of the API is a JSON object.
    const body = JSON.parse((await answer?.text()) ?? '{}') as {
      readonly error?: { readonly code?: string }
      readonly users?: readonly { readonly name: string }[]
    }
    return {
      status: answer?.status(),
      protocol: tls?.protocol,
      code: body.error?.code,
      names: body.users?.map(({ name }) => name),
    }
  } finally {
    await page.close()
  }
}

function home(name: string): string {
  const folder = join(root, name)
  mkdirSync(folder)
  return folder
}

if (hasCertifiedBrowser()) {
  browsers.before(async () => {
    root = mkdtempSync(join(tmpdir(), 'steeple-browser-'))
    const dataDir = join(root, 'data')
    const service = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
      env: { SVC_ADMIN_TOKEN: ADMIN, SVC_TLS_ENABLED: 'true' },
    })
    url = (await urlOf(service)).replace('127.0.0.1', 'localhost')
    ca = join(dataDir, 'keys', 'mesh-ca.pem')
  })

  browsers.after(() => {
    started.endAll()
    rmSync(root, { recursive: true, force: true })
  })

  browsers('has a browser without a certificate ask nobody for one, and go without', async () => {
    await using browser = await openCertifiedBrowser({ folder: home('none'), ca })
    const refused = { status: 401, protocol: 'TLS 1.3', code: 'unauthenticated', names: undefined }
    assert.equal(await seen(browser, '/v1/users'), refused)
    assert.is((await seen(browser, '/v1/healthz')).status, 200)
  })

  browsers(
    'takes a browser for the person whose archive it was given, until the certificate is revoked',
    async () => {
      const folder = home('ann')
      const env = { SVC_URL: url, SVC_TOKEN: ADMIN, SVC_CA: ca, HOME: folder }
      const added = await runSvc(['user', 'add', 'ann', '--role', 'admin', '--json'], env)
      const made = await runSvc(['user', 'cert', 'ann', '--p12', '--out', folder, '--json'], env)
      assert.equal([added.code, made.code], [0, 0], added.stderr + made.stderr)
      // Printed by the command just now.
      const { p12_file, passphrase, serial } = JSON.parse(made.stdout) as Record<string, string>
      const archive = { file: String(p12_file), passphrase: String(passphrase) }
      await using browser = await openCertifiedBrowser({ folder, ca, archive })
      const welcome = { status: 200, protocol: 'TLS 1.3', code: undefined, names: ['ann'] }
      assert.equal(await seen(browser, '/v1/users'), welcome)
      const { id } = JSON.parse(added.stdout) as { readonly id: string }
      const target = { port: Number(new URL(url).port), ca: readFileSync(ca, 'utf8') }
      const path = `/v1/users/${id}/certificates/${serial}`
      assert.is((await ask(target, 'DELETE', path, undefined, { token: ADMIN })).status, 204)
      const out = { status: 401, protocol: 'TLS 1.3', code: 'certificate_revoked', names: undefined }
      assert.equal(await seen(browser, '/v1/users'), out)
    },
  )
}

browsers.run()
