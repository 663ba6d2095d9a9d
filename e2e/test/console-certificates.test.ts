import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, suite } from '@steeple/testkit'
import type { Page, Browser as PlaywrightBrowser } from 'playwright-core'
import { hasCertifiedBrowser, openCertifiedBrowser } from '../harness/browser.ts'
import { goTo, isAccessible } from '../harness/console-page.ts'
import { urlOf } from '../harness/launch.ts'
import { runSvc, startedProcesses } from '../harness/service.ts'

const ADMIN = 'console-certificates-token-0123456789'
const ACTION_MS = 120_000

/** The console of who has a certificate in the browser, and what it shows of certificates. */
const certificates = suite('e2e/console-certificates', { limitMs: 600_000 })
const started = startedProcesses()

let root: string
let url: string
let ca: string
let browser: PlaywrightBrowser

/** What a command printed as JSON. */
async function told(
  args: readonly string[],
  home: string,
): Promise<Readonly<Record<string, string | undefined>>> {
  const env = { SVC_URL: url, SVC_TOKEN: ADMIN, SVC_CA: ca, HOME: home }
  const { code, stdout, stderr } = await runSvc([...args, '--json'], env)
  assert.is(code, 0, stderr)
  return JSON.parse(stdout)
}

/** A folder for what is of one device. */
function folderOf(name: string): string {
  const folder = join(root, name)
  mkdirSync(folder)
  return folder
}

/** The code with which a command is refused that shows the certificate in a folder; undefined when it is let in. */
async function refusal(folder: string): Promise<string | undefined> {
  const files = { SVC_CERT: join(folder, 'ann.pem'), SVC_KEY: join(folder, 'ann.key'), SVC_CA: ca }
  const { code, stderr } = await runSvc(['token', 'list', '--json'], { SVC_URL: url, HOME: folder, ...files })
  return code === 0 ? undefined : JSON.parse(stderr).error.code
}

/** A page of the console, and what it complained of. */
async function opened(path: string): Promise<{ readonly page: Page; readonly problems: readonly string[] }> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } })
  page.setDefaultTimeout(ACTION_MS)
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    const isNote = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isNote) problems.push(message.text())
  })
  await page.goto(url + path)
  return { page, problems }
}

if (hasCertifiedBrowser()) {
  certificates.before(async () => {
    root = mkdtempSync(join(tmpdir(), 'steeple-console-certificates-'))
    const dataDir = join(root, 'data')
    const service = started.launch(['--first-start', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
      env: { SVC_ADMIN_TOKEN: ADMIN, SVC_TLS_ENABLED: 'true', SVC_HSS_DRIVER: 'none' },
    })
    url = (await urlOf(service)).replace('127.0.0.1', 'localhost')
    ca = join(dataDir, 'keys', 'mesh-ca.pem')
  })
  certificates.after(async () => {
    await browser?.close()
    started.endAll()
    rmSync(root, { recursive: true, force: true })
  })

  certificates(
    'open the console without signing in, are listed with their person, and open nothing once they are revoked there',
    async () => {
      const [laptop, phone] = [folderOf('laptop'), folderOf('phone')]
      const { id = '' } = await told(['user', 'add', 'ann', '--role', 'admin'], laptop)
      const cert = ['user', 'cert', 'ann', '--out']
      const made = await told([...cert, laptop, '--label', 'laptop', '--p12'], laptop)
      await told([...cert, phone, '--label', 'phone'], phone)
      const archive = { file: made.p12_file ?? '', passphrase: made.passphrase ?? '' }
      browser = await openCertifiedBrowser({ folder: folderOf('browser'), ca, archive })
      const { page, problems } = await opened(`/people/${id}`)
      const list = page.getByRole('region', { name: 'Certificates' })
      const row = (name: string) => list.getByRole('row', { name: new RegExp(name) })
      await row('laptop').waitFor()
      await row('phone').waitFor()
      assert.is(await page.getByRole('button', { name: 'Sign in', exact: true }).count(), 0)
      await isAccessible(page, 'certificates of a person')
      assert.is(await refusal(phone), undefined)
      await list.getByRole('button', { name: 'Revoke: phone' }).click()
      await row('phone').getByText('revoked', { exact: true }).waitFor()
      assert.equal([await refusal(phone), await refusal(laptop)], ['certificate_revoked', undefined])
      await goTo(page, '/account')
      await page.getByText('a certificate', { exact: true }).waitFor()
      await page.getByText('You are signed in with a token or certificate.').waitFor()
      await goTo(page, `/people/${id}`)
      await row('laptop').waitFor()
      await goTo(page, '/people')
      await page.getByRole('button', { name: 'Invite a person' }).click()
      const invitation = page.getByRole('dialog', { name: 'Invite a person' })
      await invitation.getByLabel('Name').fill('mswe')
      await invitation.getByLabel('For', { exact: true }).selectOption({ label: 'roles of your choice' })
      await invitation.getByLabel('operator').check()
      await told(['user', 'uncert', 'ann', made.serial ?? ''], laptop)
      assert.is(await refusal(laptop), 'certificate_revoked')
      const again = page.getByRole('dialog', { name: 'Sign in again' })
      await again.getByText('is not valid any more').waitFor()
      await isAccessible(page, 'a certificate that opens nothing any more')
      assert.is(await invitation.getByLabel('Name').inputValue(), 'mswe', 'nothing typed is lost')
      assert.equal(problems, [])
    },
  )
}

certificates.run()
