import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, suite, unusedPort } from '@steeple/testkit'
import type { Page } from 'playwright-core'
import { type Browser, findBrowser, openBrowser } from '../harness/browser.ts'
import { about } from '../harness/builds/program.ts'
import { isAccessible, signInAs } from '../harness/console-page.ts'
import { makeVisits, type Visits } from '../harness/console-visits.ts'
import { mint } from '../harness/credentials.ts'
import { addAuthenticator } from '../harness/passkey-page.ts'
import { addPerson, post, totpAt } from '../harness/people.ts'
import { sourceOf } from '../harness/plugins/failing-plugins.ts'
import { type PluginBuild, packageJsonOf } from '../harness/plugins/install-version.ts'
import { runSvc, type Service, startService } from '../harness/service.ts'
import { startWebhookReceiver, type Treatment, type WebhookReceiver } from '../harness/webhook-receiver.ts'

/** Who signs plugins, and what a box writes down to trust it. */
interface Signer {
  readonly keyFile: string
  /** For `plugins.trust`. */
  readonly trust: string
}

/** Makes a key in a folder. */
async function newSigner(folder: string): Promise<Signer> {
  const keyFile = join(folder, 'plugins.key')
  const { stdout } = await runSvc(['plugin', 'key', keyFile, '--name', 'alice', '--json'])
  return { keyFile, trust: JSON.parse(stdout).trust }
}

/** Packs and signs a build as its author would; gives the file. */
async function packSigned(folder: string, { keyFile }: Signer, build: PluginBuild): Promise<string> {
  const place = join(folder, `${build.id}-${build.version}`)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), packageJsonOf(build))
  writeFileSync(join(place, 'plugin.js'), build.code)
  writeFileSync(join(place, 'README.md'), `# ${build.id}\n\nOf a test.\n`)
  const { code, stderr } = await runSvc(['plugin', 'pack', place, '--key', keyFile])
  if (code !== 0) throw new Error(`svc plugin pack ended with ${code}: ${stderr}`)
  return join(place, `${build.id}-${build.version}.tgz`)
}

/** What an operator and an administrator do in the console to keep a box well. */
const LIMIT = { limitMs: 600_000 }
const upkeep = suite('e2e/console-upkeep', LIMIT)
const PASSWORD = 'correct horse battery'
const executable = findBrowser()

let folder: string
let service: Service
let hooks: WebhookReceiver
let treatment: Treatment = 'take'
let browser: Browser | undefined
let visits: Visits
let signer: Signer
let configure: (server: object) => void

upkeep.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'steeple-upkeep-'))
  hooks = await startWebhookReceiver(join(folder, 'ops.secret'), () => treatment)
  const webhook = {
    name: 'ops',
    url: hooks.url,
    secret_file: join(folder, 'ops.secret'),
    allow_private: true,
  }
  const rule = { name: 'running', metric: 'process_start_time_seconds', op: '>', threshold: 0, for: '0s' }
  const alerts = {
    enabled: true,
    interval: '1s',
    rules: [{ ...rule, severity: 'critical' }],
    webhooks: [webhook],
  }
  // JSON is YAML.
  signer = await newSigner(folder)
  configure = (server) =>
    writeFileSync(
      join(folder, 'control.yaml'),
      JSON.stringify({ server, alerts, plugins: { trust: [signer.trust] } }),
    )
  configure({})
  // It has the same address after a restore.
  const listen = `127.0.0.1:${await unusedPort()}`
  service = await startService({
    flags: ['--config', join(folder, 'control.yaml'), '--listen', listen],
    env: { SVC_PLUGINS_ALLOW_UNSIGNED: 'false' },
  })
  if (executable === undefined) return
  browser = await openBrowser(executable)
  visits = makeVisits(browser, service.url, tokenOf)
})
upkeep.after(async () => {
  await browser?.close()
  await service?.stop()
  await hooks?.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Shown {
  readonly page: Page
  /** Nothing was complained of, and nobody else was asked. */
  readonly done: () => Promise<void>
}

/** A page of the console, by a token with that role. */
async function shown(path: string, role = 'admin'): Promise<Shown> {
  const { page } = await visits.enter(role, path)
  return { page, done: () => visits.leave(page) }
}

async function tokenOf(role: string): Promise<string> {
  if (role === 'admin') return service.adminToken
  return (await mint(service, { name: `as ${role}`, roles: [role] })).token
}

const alertNow = async () =>
  (await service.request('GET', '/v1/alerts?state=open&rule=running')).body.alerts[0]

if (executable !== undefined) {
  about(['alerts'], upkeep)(
    'takes care of an alert, silences it, and takes the silence back',
    async () => {
      await eventually(async () => (await alertNow())?.state === 'firing')
      const { page, done } = await shown('/alerts', 'operator')
      const alert = page.getByRole('article', { name: /^running/ })
      await alert.getByText('Critical').waitFor()
      await isAccessible(page, 'alerts')
      await alert.getByRole('button', { name: 'Acknowledge' }).click()
      await alert.getByText('as operator').waitFor()
      assert.match((await alertNow()).acked_by, /as operator/)
      await alert.getByRole('button', { name: 'Silence' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('How long').selectOption({ label: 'a day' })
      await dialog.getByRole('button', { name: 'Silence' }).click()
      await alert.getByText('Silenced until').waitFor()
      const hours = (Date.parse((await alertNow()).silenced_until) - Date.now()) / 3_600_000
      assert.ok(hours > 23 && hours < 24.1, String(hours))
      await page.getByRole('status').getByRole('button', { name: 'Undo' }).click()
      await alert.getByRole('button', { name: 'Silence alert', exact: true }).waitFor()
      assert.is((await alertNow()).silenced_until, null)
      await done()
    },
    LIMIT,
  )

  about(['alerts'], upkeep)(
    'tests a receiver, and says why one takes nothing; a viewer sees it and has no button',
    async () => {
      const { page, done } = await shown('/alerts?tab=receivers', 'operator')
      const receiver = page.getByRole('article', { name: 'ops' })
      await receiver.getByRole('button', { name: 'Send test message' }).click()
      await receiver.getByText('The receiver took the test message.').waitFor()
      assert.ok(hooks.deliveries.some(({ payload }) => payload.type === 'alert.test'))
      treatment = 'fail'
      await receiver.getByRole('button', { name: 'Send test message' }).click()
      await receiver.getByText(/The receiver did not take the test message: .*500/).waitFor()
      treatment = 'take'
      await isAccessible(page, 'receivers')
      await done()
      const other = await shown('/alerts?tab=receivers', 'viewer')
      await other.page.getByRole('article', { name: 'ops' }).waitFor()
      assert.is(await other.page.getByRole('button', { name: 'Send test message' }).count(), 0)
      assert.is(await other.page.getByRole('link', { name: 'Audit trail' }).count(), 0)
      await other.done()
    },
    LIMIT,
  )

  about(['alerts'], upkeep)(
    'adds a receiver without a file, and tries it at once',
    async () => {
      const { page, done } = await shown('/alerts?tab=receivers')
      await page.getByRole('button', { name: 'Add receiver' }).click()
      const dialog = page.getByRole('dialog')
      await isAccessible(page, 'a receiver to be added')
      await dialog.getByLabel('Kind').selectOption('webhook')
      assert.is(await dialog.getByLabel('Name').inputValue(), 'webhook')
      assert.match(await dialog.getByLabel('Secret for the signature').inputValue(), /^whsec_/)
      await dialog
        .getByLabel('Secret for the signature')
        .fill(readFileSync(join(folder, 'ops.secret'), 'utf8').trim())
      await dialog.getByLabel('Address (URL)').fill(hooks.url)
      await dialog.getByRole('button', { name: 'Add receiver' }).click()
      await dialog.getByText(/^its address .* allow_private: true/).waitFor()
      await dialog.getByLabel('The server is in my own network').check()
      await dialog.getByRole('button', { name: 'Add receiver' }).click()
      await page.getByRole('dialog', { name: 'webhook is added' }).waitFor()
      await dialog.getByRole('button', { name: 'Send test message' }).click()
      await dialog.getByText('The receiver took the test message.').waitFor()
      await page.keyboard.press('Escape')
      const receiver = page.getByRole('article', { name: 'webhook', exact: true })
      await receiver.getByText('warnings and critical alerts').waitFor()
      const removed = await service.request('DELETE', '/v1/alerts/receivers/webhook')
      assert.is(removed.status, 204)
      await done()
    },
    LIMIT,
  )

  about(['alerts'], upkeep)(
    'finds what somebody did by filters that are in the address, and checks the chain',
    async () => {
      const { page, done } = await shown('/audit', 'operator')
      await page
        .getByRole('row', { name: /Silence an alert/ })
        .first()
        .waitFor()
      await page.getByLabel('What', { exact: true }).selectOption({ label: 'Acknowledge an alert' })
      await page.waitForURL(/action=alert\.ack/)
      const table = page.getByRole('table', { name: 'Audit trail' })
      await page.getByText('1 row', { exact: true }).waitFor()
      await table.getByRole('button', { name: /Acknowledge an alert, entry/ }).click()
      await page.getByRole('dialog').getByText('alert.ack').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
      await page.reload()
      await page.getByText('1 row', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Clear filters' }).click()
      await page.getByRole('button', { name: 'Check the trail' }).click()
      await page.getByText(/^\d+ entries checked\. Nothing was changed/).waitFor()
      await page.getByText('svc audit verify').waitFor()
      await isAccessible(page, 'audit')
      await done()
    },
    LIMIT,
  )

  about(['support', 'compliance'], upkeep)(
    'logs more for a time, and gives files to who may have them',
    async () => {
      const { page, done } = await shown('/system')
      const log = page.getByRole('region', { name: 'Log' })
      await log.getByLabel('Part').selectOption('kernel')
      await log.getByLabel('How long').selectOption('1h')
      await log.getByRole('button', { name: 'Apply level' }).click()
      await log.getByText(/kernel: debug until/).waitFor()
      const { holds } = (await service.request('GET', '/v1/log-level')).body
      assert.equal([holds[0].component, holds[0].level], ['kernel', 'debug'])
      await log.getByRole('button', { name: 'End now' }).click()
      await log.getByText(/kernel: debug until/).waitFor({ state: 'detached' })
      for (const [name, file] of [
        ['Download bundle', /^svc-support-.*\.tar\.gz$/],
        ['Download file', /\.csv$/],
      ] as const) {
        const download = page.waitForEvent('download')
        await page.getByRole('button', { name }).click()
        assert.match((await download).suggestedFilename(), file)
      }
      await isAccessible(page, 'system')
      await done()
      const other = await shown('/system', 'viewer')
      await other.page.getByRole('region', { name: 'Health' }).waitFor()
      assert.is(await other.page.getByRole('region', { name: 'Log' }).count(), 0)
      await other.done()
    },
    LIMIT,
  )

  upkeep(
    'invites a person by a link that is shown once, who accepts it, and takes the person away again',
    async () => {
      const { page, done } = await shown('/people')
      const invite = page.getByRole('button', { name: 'Invite a person' })
      const colour = () =>
        page.evaluate<string>("getComputedStyle(document.querySelector('.button.primary')).backgroundColor")
      await invite.waitFor()
      const before = await colour()
      await invite.hover()
      assert.is(await colour(), before, 'its text is read on its own colour, under the mouse too')
      await invite.click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('grace')
      await dialog.getByLabel('For', { exact: true }).selectOption({ label: 'roles of your choice' })
      await dialog.getByLabel('operator').check()
      await dialog.getByRole('button', { name: 'Create link' }).click()
      await dialog.getByRole('img', { name: /QR code/ }).waitFor()
      const link = (await dialog.getByText('/v1/auth/invitation#').textContent()) ?? ''
      await isAccessible(page, 'an invitation')
      await page.keyboard.press('Escape')
      await dialog.getByRole('button', { name: 'I have saved it' }).click()
      const token = link.split('#')[1] ?? ''
      const body = { token, password: PASSWORD }
      const accepted = await service.request('POST', '/v1/auth/invitation', { token: undefined, body })
      assert.equal([accepted.status, accepted.body.name], [201, 'grace'], JSON.stringify(accepted.body.error))
      await page.getByRole('link', { name: 'grace' }).click()
      await page.getByRole('heading', { name: 'grace' }).waitFor()
      await isAccessible(page, 'a person')
      await page.getByRole('button', { name: 'Change roles' }).click()
      await page.getByRole('dialog').getByLabel('operator').uncheck()
      await page.getByRole('dialog').getByRole('button', { name: 'Change roles' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const { users } = (await service.request('GET', '/v1/users')).body
      assert.equal(users[0].roles, ['viewer'])
      await page.getByRole('button', { name: 'Remove', exact: true }).click()
      await page.getByRole('dialog').getByText('stays in the audit trail').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
      await page.getByText('No accounts yet').waitFor()
      assert.equal((await service.request('GET', '/v1/users')).body.users, [])
      await isAccessible(page, 'people')
      await done()
    },
  )

  upkeep('makes a token that opens what its role may, until it is deleted', async () => {
    const { page, done } = await shown('/people?tab=tokens')
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('dashboard')
    await dialog.getByLabel('Valid for').selectOption({ label: '7 days' })
    await dialog.getByRole('button', { name: 'Create token' }).click()
    const token = (await dialog.getByText(/^svc/).first().textContent()) ?? ''
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    const asked = async (path: string) => (await service.request('GET', path, { token })).status
    assert.equal([await asked('/v1/status'), await asked('/v1/audit')], [200, 403])
    await isAccessible(page, 'tokens')
    await page.getByRole('button', { name: 'Delete: dashboard' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The token is deleted.').waitFor()
    assert.is(await asked('/v1/status'), 401)
    await done()
  })

  upkeep('gives a person a passkey, which signs in, and another password', async () => {
    if (browser === undefined) throw new Error('the browser was not started')
    const person = await addPerson(service, 'zoe', ['viewer'])
    const url = `http://localhost:${new URL(service.url).port}/account`
    const { page, problems } = await browser.open(url)
    await addAuthenticator(page)
    await page.getByLabel('Name').fill('zoe')
    await page.getByLabel('Password').fill(person.password)
    await page.getByLabel('Code').fill(totpAt(person.totp_uri, Date.now()))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Name of the passkey').fill('virtual')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('row', { name: /virtual/ }).waitFor()
    await isAccessible(page, 'my account')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    const form = page.getByRole('region', { name: 'Change password' })
    await form.getByLabel('Current password').fill(person.password)
    await form.getByLabel('Code').fill(person.recovery_codes[0] ?? '')
    await form.getByLabel('New password', { exact: true }).fill(PASSWORD)
    await form.getByLabel('Repeat new password').fill('another one than that')
    await form.getByText('The passwords are not the same.').waitFor()
    await form.getByLabel('Repeat new password').fill(PASSWORD)
    await form.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('The password is changed.').waitFor()
    await page.getByRole('button', { name: 'Remove: virtual' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No passkeys.').waitFor()
    assert.equal((await service.request('GET', `/v1/users/${person.id}/passkeys`)).body.passkeys, [])
    assert.equal(problems, [])
    await page.context().clearCookies()
    await page.close()
  })

  upkeep('draws recovery codes for who is signed in, which are shown once, and printed alone', async () => {
    if (browser === undefined) throw new Error('the browser was not started')
    const person = await addPerson(service, 'jude', ['viewer'])
    const { page, problems } = await browser.open(`${service.url}/account`)
    await signInAs(page, person)
    const card = page.getByRole('region', { name: 'Recovery codes' })
    await card.getByText('10 of ten are left.').waitFor()
    const status = async (code: string): Promise<number> => {
      const body = { username: 'jude', password: person.password, code }
      return (await post(service, '/v1/auth/login', { body })).status
    }
    const spent = person.recovery_codes.slice(0, 8)
    for (const code of spent) assert.is(await status(code), 200)
    await card.getByRole('status').getByText('2 of ten are left.').waitFor()
    await card.getByRole('button', { name: 'Generate new codes' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Current password').fill(`${person.password}x`)
    await dialog.getByLabel('Code').fill(person.recovery_codes[8] ?? '')
    await dialog.getByRole('button', { name: 'Generate new codes' }).click()
    await dialog.getByText('login_failed').waitFor()
    await dialog.getByLabel('Current password').fill(person.password)
    await dialog.getByRole('button', { name: 'Generate new codes' }).click()
    await dialog.getByText('You see this only once.').waitFor()
    const codes = await dialog.getByRole('listitem').allTextContents()
    assert.is(codes.length, 10)
    await isAccessible(page, 'recovery codes that were drawn')
    await page.emulateMedia({ media: 'print' })
    assert.ok(await dialog.getByText(codes[0] ?? '').isVisible())
    assert.not.ok(await card.isVisible())
    await page.emulateMedia({ media: 'screen' })
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await card.getByText('10 of ten are left.').waitFor()
    assert.equal([await status(person.recovery_codes[9] ?? ''), await status(codes[0] ?? '')], [401, 200])
    await card.getByText('9 of ten are left.').waitFor()
    // The browser says of the refused try that it was refused.
    assert.equal(
      problems.filter((problem) => !problem.includes('401')),
      [],
    )
    await page.context().clearCookies()
    await page.close()
  })

  upkeep('installs a signed plugin, another version, rolls back, and says why one fails', async () => {
    const { page, done } = await shown('/plugins')
    const install = page.getByRole('region', { name: 'Install a package' })
    const give = async (version: string, code: string): Promise<void> => {
      const file = await packSigned(folder, signer, { id: 'lantern', version, code })
      await install.getByLabel('Package (.tgz)').setInputFiles(file)
      await install.getByRole('button', { name: 'Install a package' }).click()
    }
    const running = async (): Promise<string> => {
      const { plugins } = (await service.request('GET', '/v1/plugins')).body
      const found = plugins.find(({ name }: { readonly name: string }) => name === 'lantern')
      return `${found?.version} ${found?.state}`
    }
    await give('1.0.0', sourceOf())
    await install.getByText('lantern 1.0.0 is installed:').waitFor()
    await give('1.1.0', sourceOf())
    await install.getByText('lantern 1.1.0 is installed:').waitFor()
    assert.is(await running(), '1.1.0 running')
    await page.getByRole('link', { name: 'lantern' }).first().click()
    await page.getByText(/^alice/).waitFor()
    await page.getByRole('button', { name: 'Go back to 1.0.0' }).click()
    await page.getByRole('button', { name: 'Use version 1.1.0' }).waitFor()
    await page.getByText('it took the place of version 1.1.0').waitFor()
    assert.is(await running(), '1.0.0 running')
    await isAccessible(page, 'a plugin')
    await page.getByRole('link', { name: 'Plugins' }).first().click()
    await give('1.2.0', sourceOf({ setup: "throw new Error('the lantern has no oil')" }))
    await page
      .getByText(/the lantern has no oil/)
      .first()
      .waitFor()
    assert.is(await running(), '1.0.0 running')
    await isAccessible(page, 'plugins')
    await page.getByRole('link', { name: 'lantern' }).first().click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    assert.match(await running(), /disabled$/)
    await done()
  })

  about(['alerts'], upkeep)(
    'finds a setting by a word, with where it is from, and marks what needs a restart',
    async () => {
      configure({ log_format: 'console' })
      service.child.kill('SIGHUP')
      await eventually(async () => {
        const { settings } = (await service.request('GET', '/v1/settings')).body
        return settings.some(({ awaits_start }: { readonly awaits_start: boolean }) => awaits_start)
      })
      const { page, done } = await shown('/settings')
      await page.getByLabel('Find a setting').fill('form of the log')
      await page.waitForURL(/q=form/)
      await page.getByText('server.log_format', { exact: true }).click()
      await page.getByText('needs a restart').waitFor()
      await page.getByText('at the next start of the service', { exact: true }).waitFor()
      await isAccessible(page, 'settings')
      // Words that stand behind a line, which nobody has opened.
      await page.getByLabel('Find a setting').fill('SVC_ALERTS_INTERVAL')
      await page.getByText('1 of ').waitFor()
      await page.getByText('alerts.interval', { exact: true }).waitFor()
      await page.getByLabel('Find a setting').fill('alerts.interval')
      await page.getByLabel('Only set values').check()
      await page.getByText('alerts.interval', { exact: true }).click()
      await page
        .getByText(/control\.yaml:\d+/)
        .first()
        .waitFor()
      await page.getByText('1 of ').waitFor()
      await done()
    },
    LIMIT,
  )

  about(['backup'], upkeep)(
    'takes a backup under a passphrase, and shows what restoring it would change before anything does',
    async () => {
      const { page, done } = await shown('/backup')
      const take = page.getByRole('region', { name: 'Take a backup' })
      await take.getByLabel('Passphrase', { exact: true }).fill('short')
      await take.getByText('too short').waitFor()
      await take.getByRole('button', { name: 'Generate' }).click()
      await take.getByText('strong', { exact: true }).waitFor()
      const passphrase = await take.getByLabel('Passphrase', { exact: true }).inputValue()
      const download = page.waitForEvent('download')
      await take.getByRole('button', { name: 'Take a backup' }).click()
      const file = join(folder, 'box.backup')
      await (await download).saveAs(file)
      await page.getByRole('region', { name: 'Past backups' }).getByRole('listitem').first().waitFor()
      await service.request('POST', '/v1/tokens', { body: { name: 'since then', roles: ['viewer'] } })
      const restore = page.getByRole('region', { name: 'Restore a backup' })
      await restore.getByLabel('Backup file').setInputFiles(file)
      await restore.getByLabel('Passphrase').fill('another passphrase')
      await restore.getByRole('button', { name: /^Check file/ }).click()
      await restore.getByText('the backup cannot be decrypted').waitFor()
      await restore.getByLabel('Passphrase').fill(passphrase)
      await restore.getByRole('button', { name: /^Check file/ }).click()
      await restore.getByText('The file is complete. You can restore it here.').waitFor()
      await restore.getByRole('row', { name: /token.*−1/ }).waitFor()
      await isAccessible(page, 'backup')
      await restore.getByRole('button', { name: 'Restore backup' }).click()
      const dialog = page.getByRole('dialog')
      assert.ok(await dialog.getByRole('button', { name: 'Restore backup' }).isDisabled())
      await dialog.getByLabel('I know what I lose').check()
      await dialog.getByRole('button', { name: 'Restore backup' }).click()
      await page.getByText(/The backup of .* is restored/).waitFor()
      await eventually(async () => {
        const { tokens } = (await service.request('GET', '/v1/tokens')).body
        return tokens.every(({ name }: { readonly name: string }) => name !== 'since then')
      })
      await done()
    },
    LIMIT,
  )
}

upkeep.run()
