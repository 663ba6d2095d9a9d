import { h, inBrowser, Refusal, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Page } = await import('../../pages/backup.tsx')
const { Restore } = await import('../../pages/restore.tsx')

/** Restoring: what is in a backup first, then what it costs, then that. */
const restore = suite('backup/pages/restore')
inBrowser(restore)

const FOUND = {
  ...{ node_name: 'hill', created_at: '2026-01-01T12:00:00Z', version: '1.2.3', with_keys: false },
  ...{
    counts: { sims: 12, sessions: 3, notes: 1 },
    present: { sims: 10, sessions: 3, audit: 7 },
    kept_in: '/kept',
  },
}

async function chosen(answer: object = FOUND) {
  const page = await show(() => h(Restore, {}), { 'POST /v1/restore': answer })
  assert.ok(page.isDisabled('Check file'))
  await page.choose('Backup file', new File(['backup'], 'hill.backup'))
  return page
}
const trials = (page: Awaited<ReturnType<typeof chosen>>) => page.asked().map(({ query }) => query.dry_run)
const checkOf = (page: Awaited<ReturnType<typeof chosen>>) =>
  page.buttons().find((name) => name.startsWith('Check')) ?? ''

restore('checks first, and shows which tables would have other rows', async () => {
  const page = await chosen()
  await page.press(checkOf(page))
  assert.equal(trials(page), ['true'])
  assert.equal(page.rows(), [
    ['audit', '7', '0', '−7'],
    ['notes', '0', '1', '+1'],
    ['sims', '10', '12', '+2'],
  ])
  for (const says of ['hill', '1.2.3']) assert.match(page.text(), says)
})

restore('restores only after it was understood what that costs, each time anew', async () => {
  const page = await chosen()
  await page.press(checkOf(page))
  await page.press('Restore backup')
  assert.ok(page.isDisabled('Restore backup'))
  const [[label = ''] = []] = page.ticks().slice(-1)
  await page.tick(label)
  assert.not(page.isDisabled('Restore backup'))
  await page.press('Cancel')
  await page.press('Restore backup')
  assert.ok(page.isDisabled('Restore backup'), 'it was another question')
  await page.tick(label)
  await page.press('Restore backup')
  assert.equal(trials(page), ['true', 'false'])
  assert.match(page.text(), '/kept')
})

restore('holds what was found for nothing else than what was chosen', async () => {
  const page = await chosen()
  await page.press(checkOf(page))
  await page.put('Passphrase', 'other')
  assert.not(page.buttons().includes('Restore backup'))
  await page.press(checkOf(page))
  const [[label = ''] = []] = page.ticks()
  await page.tick(label)
  assert.not(page.buttons().includes('Restore backup'))
})

restore('says why a backup cannot be used, and offers nothing', async () => {
  const page = await chosen(new Refusal(400, 'backup_invalid', 'it is cut off'))
  await page.press(checkOf(page))
  assert.match(page.text(), 'it is cut off')
  assert.not(page.buttons().includes('Restore backup'))
})

restore('says where the passphrase of daily backups is set, until it is', async () => {
  const shown = (from: string) =>
    show(() => h(Page, {}), {
      'GET /v1/settings': { file: null, settings: [{ key: 'backup.schedule', value: '' }] },
      'GET /v1/plugins/backup/secrets': { secrets: [{ key: 'passphrase', from }] },
      'GET /v1/health': { components: [], incidents: [] },
      'GET /v1/audit': { entries: [], next_cursor: null },
    })
  assert.ok((await shown('nowhere')).buttons().includes('Set their passphrase'))
  assert.not((await shown('store')).buttons().includes('Set their passphrase'))
})

restore.run()
