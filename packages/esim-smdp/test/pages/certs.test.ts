import { h, inBrowser, Refusal, type Screen, show } from '@steeple/console/testing'
import { assert, eventually, suite } from '@steeple/testkit'

const { Certs } = await import('../../pages/certs.tsx')
const { CodeDialog } = await import('../../pages/code-dialog.tsx')

/** Certificates as they are imported and taken back, and the QR code of one code. */
const certs = suite('esim-smdp/pages/certs')
inBrowser(certs)

const cert = (more: object = {}) => ({
  ...{ id: 'a'.repeat(40), role: 'dp_auth', subject: 'CN=dp.example, O=Example', curve: 'P-256' },
  ...{ not_after: '2030-01-01T00:00:00Z', revoked: false, in_use: true, ...more },
})
const answers = (more: object = {}) => ({
  'GET /v1/esim/certs': { certs: [cert(more)], next_cursor: null },
})
const REVOKE = 'POST /v1/esim/certs/revoke'
const refused = () => new Refusal(409, 'conflict', 'not now')

certs(
  'are imported from the files that are chosen in the dialog that stands there, and no others',
  async () => {
    const page = await show(() => h(Certs, {}), answers())
    await page.press('Import certificates')
    await page.choose('Files', new File(['key'], 'dp.key.pem'))
    assert.is(page.isDisabled('Import certificates'), false)
    await page.press('Cancel')
    await page.press('Import certificates')
    assert.is(page.dialog(), 'Import certificates')
    assert.is(page.isDisabled('Import certificates'), true, 'files are sent that nobody sees')
    await page.press('Import certificates')
    assert.equal(page.changes(), [])
    await page.press('Cancel')
    await page.press('Create test issuer')
    await page.put('Host name', 'old.example')
    await page.press('Cancel')
    await page.press('Create test issuer')
    assert.is(page.field('Host name').value, '')
  },
)

/** What stands there after the box has refused to trust it again. */
function isSaid(page: Screen): void {
  assert.match(page.text(), /r1/, 'the id of the request')
  assert.not.match(page.text(), /trusted again/)
}

certs('are trusted again once at a time, and why not stays on the page', async () => {
  let tries = 0
  const page = await show(() => h(Certs, {}), {
    ...answers({ revoked: true }),
    [REVOKE]: async () => {
      tries += 1
      return refused()
    },
  })
  await Promise.all([page.press('Restore dp.example'), page.press('Restore dp.example')])
  assert.is(tries, 1)
  isSaid(page)
  page.answer({ [REVOKE]: cert() })
  await page.press('Restore dp.example')
  assert.match(page.text(), /dp\.example is trusted again\./)
  assert.not.match(page.text(), /r1/)
})

certs('says why a revoke cannot be undone', async () => {
  const page = await show(() => h(Certs, {}), { ...answers(), [REVOKE]: cert({ revoked: true }) })
  await page.press('Revoke dp.example')
  await page.press('Revoke')
  page.answer({ [REVOKE]: refused })
  await page.press('Undo Ctrl Z')
  isSaid(page)
})

certs('reads the QR code of a code once, also when the connection was lost', async () => {
  const QR = `GET /v1/esim/codes/${'c'.repeat(12)}/qr`
  const code = {
    ...{ token: 'c'.repeat(12), state: 'released', closed: false, iccid_last4: '1234', last_error: null },
    ...{ profile: null, provider: null, provider_cancel: null, batch_id: null, attempts: 0, downloads: 0 },
    ...{ expires_at: '2030-01-01T00:00:00Z', confirmation_required: false },
  } as never
  const onClose = (): void => undefined
  const page = await show(() => h('div', {}, h(CodeDialog, { code, onClose }), h(Certs, {})), {
    ...answers(),
    [QR]: refused,
  })
  page.answer({ [QR]: { token: 'x', activation_code: 'LPA:1$dp.example$X', qr_text: 'LPA:1$dp.example$X' } })
  await page.press('Try again')
  assert.match(page.text(), 'LPA:1$dp.example$X')
  const asked = (call: string): number => page.asked().filter((one) => one.call === call).length
  const [qrs, lists] = [asked(QR), asked('GET /v1/esim/certs')]
  page.answer({ [QR]: refused })
  await page.missed()
  await eventually(() => assert.ok(asked('GET /v1/esim/certs') > lists), 15_000)
  await page.settled()
  assert.is(asked(QR), qrs)
  assert.match(page.text(), 'LPA:1$dp.example$X')
})

certs.run()
