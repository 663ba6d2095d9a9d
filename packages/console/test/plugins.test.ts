import { assert, suite } from '@steeple/testkit'
import { inBrowser, open, Refusal } from './support/page.ts'

/** Plugins: how each is, what may be done with it, its versions and its secrets. */
const plugins = suite('console/plugins')
inBrowser(plugins)

const plugin = (name: string, more: object = {}) => ({
  ...{ name, kind: 'feature', version: '1.0.0', versions: ['1.0.0'], installed: [], state: 'running' },
  ...{ health: 'ok', error: null, essential: false, loaded_at: null, loaded_because: null, signed_by: null },
  ...more,
})
const list = (...all: readonly object[]) => ({ 'GET /v1/plugins': { plugins: all, next_cursor: null } })
const one = (more: object, secrets: readonly object[] = []) =>
  open('/plugins/mesh', { ...list(plugin('mesh', more)), 'GET /v1/plugins/mesh/secrets': { secrets } })

plugins('says what needs somebody before the list, and how bad that is', async () => {
  const page = await open(
    '/plugins',
    list(
      plugin('well'),
      plugin('broken', { state: 'failed', error: 'it cannot bind' }),
      plugin('unset', { state: 'needs_config', error: 'mesh.name is missing' }),
      plugin('kept', { error: 'version 2 failed, 1 goes on' }),
      plugin('off', { state: 'disabled', error: 'it cannot bind' }),
    ),
  )
  const notices = [...document.querySelectorAll('.notice')].map((notice) => [
    notice.getAttribute('role'),
    notice.querySelector('a')?.textContent,
  ])
  assert.equal(notices, [
    ['alert', 'broken'],
    ['status', 'unset'],
    ['status', 'kept'],
  ])
  assert.equal(
    page.rows().map((row) => row.slice(0, 3)),
    [
      ['well', 'running', 'working'],
      ['broken', 'failed', '–'],
      ['unset', 'needs a setting', '–'],
      ['kept', 'running', 'working'],
      ['off', 'disabled', '–'],
    ],
  )
})

plugins('offers what may be done in each state', async () => {
  for (const [more, offered] of [
    [{ state: 'running' }, ['Reload', 'Unload', 'Disable']],
    [{ state: 'running', essential: true }, ['Reload']],
    [{ state: 'disabled' }, ['Enable']],
    [{ state: 'failed', error: 'x' }, ['Load', 'Disable']],
    [{ state: 'unloaded' }, ['Load', 'Disable']],
    [{ state: 'needs_config', error: 'x' }, ['Load', 'Disable']],
    [{ state: 'found' }, ['Load', 'Disable']],
  ] as const) {
    const page = await one(more)
    assert.equal(page.buttons('Plugin'), offered, JSON.stringify(more))
  }
})

plugins('asks before it takes something away, and not before it gives something back', async () => {
  const page = await one({})
  for (const what of ['Unload', 'Disable']) {
    await page.press(what)
    assert.is(page.dialog(), `${what} mesh?`)
    assert.equal(page.changes(), [])
    page.answer({ [`POST /v1/plugins/mesh/${what.toLowerCase()}`]: plugin('mesh') })
    await page.press(what)
    assert.equal(
      page.changes().map(([call]) => call),
      [`POST /v1/plugins/mesh/${what.toLowerCase()}`],
    )
    assert.is(page.dialog(), undefined)
  }
  page.answer({ 'POST /v1/plugins/mesh/reload': plugin('mesh') })
  await page.press('Reload')
  assert.match(page.text(), 'mesh is reloaded.')
})

plugins('says why something failed where it was asked for, and shows how the plugin is since', async () => {
  const page = await one({})
  page.answer({
    ...list(plugin('mesh', { state: 'failed', error: 'its port is taken' })),
    'POST /v1/plugins/mesh/reload': new Refusal(409, 'plugin_failed', 'it did not start'),
  })
  await page.press('Reload')
  assert.match(page.text('Plugin'), 'it did not start')
  assert.match(page.text('Plugin'), 'its port is taken')
  await page.press('Disable')
  const dialog = document.querySelector('dialog')?.textContent ?? ''
  assert.not.match(dialog, 'it did not start')
})

plugins('goes to a higher version, and back to a lower one as such: the service orders them', async () => {
  // By their characters a version before 1.0.0 is behind it, and 1.0.10 before 1.0.9.
  const versions = ['1.0.10', '1.0.9', '1.0.0', '1.0.0-rc.10', '1.0.0-rc.9']
  const page = await one({ version: '1.0.0', versions })
  assert.equal(page.buttons('Versions'), [
    ...['Use version 1.0.10', 'Use version 1.0.9', 'Go back to 1.0.0-rc.10', 'Go back to 1.0.0-rc.9'],
  ])
  page.answer({ 'POST /v1/plugins/mesh/load': plugin('mesh') })
  await page.press('Go back to 1.0.0-rc.10')
  await page.press('Use version 1.0.9')
  assert.equal(page.changes(), [
    ['POST /v1/plugins/mesh/load', { version: '1.0.0-rc.10', rollback: true }],
    ['POST /v1/plugins/mesh/load', { version: '1.0.9', rollback: false }],
  ])
})

plugins('takes away what was installed, signed or not, and nothing of the build', async () => {
  const build = await one({ versions: ['1.1.0', '1.0.0'] })
  assert.not(build.buttons().includes('Uninstall'))
  const page = await one({ installed: ['1.0.0'] })
  page.answer({ 'POST /v1/plugins/mesh/uninstall': {} })
  await page.press('Uninstall')
  await page.press('Uninstall')
  assert.is(page.address(), '/plugins')
  assert.match(page.text(), 'mesh is uninstalled.')
})

plugins('sets a secret without ever showing it, and removes only what the store has', async () => {
  const secrets = [
    { key: 'token', from: 'store' },
    { key: 'key', from: 'file' },
    { key: 'other', from: 'nowhere' },
  ]
  const page = await one({}, secrets)
  assert.equal(page.buttons('Secrets'), ['Set: token', 'Remove: token', 'Set: key', 'Set: other'])
  await page.press('Set: key')
  assert.is(page.dialog(), 'Set the secret key')
  assert.is(page.field('Value').type, 'password')
  await page.put('Value', 'hush')
  page.answer({ 'PUT /v1/plugins/mesh/secrets/key': {}, 'DELETE /v1/plugins/mesh/secrets/token': {} })
  await page.press('Set')
  assert.equal(page.changes(), [['PUT /v1/plugins/mesh/secrets/key', { value: 'hush' }]])
  assert.not.match(document.body.innerHTML, 'hush')
  await page.press('Set: other')
  assert.is(page.field('Value').value, '')
  await page.press('Cancel')
  await page.press('Remove: token')
  assert.equal(page.changes(), [['DELETE /v1/plugins/mesh/secrets/token', undefined]])
})

plugins('says that a plugin is gone', async () => {
  assert.match(
    (await open('/plugins/gone', list(plugin('mesh')))).text(),
    'This plugin does not exist any more',
  )
})

plugins.run()
