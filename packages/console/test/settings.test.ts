import { assert, suite } from '@steeple/testkit'
import { inBrowser, open } from './support/page.ts'

/** The configuration in force, as an admin looks for something in it. */
const settings = suite('console/settings')
inBrowser(settings)

const setting = (key: string, more: object = {}) => ({
  ...{ key, about: `What ${key} does.`, takes: 'a text', value: 'v', default: 'd', from: 'default' },
  ...{ apply: 'start', variable: null, flag: null, plugin: 'kernel', awaits_start: false, ...more },
})
const ALL = [
  setting('api.port', { value: 8080, default: 8080, variable: 'SVC_API_PORT', flag: '--port' }),
  setting('api.hosts', { value: ['box'], from: '/etc/svc/control.yaml', about: 'Names of the BOX.' }),
  setting('mesh.name', { value: '', awaits_start: true, plugin: 'mesh', takes: 'a label of a domain' }),
  setting('log.level', { value: 'x'.repeat(60), from: 'SVC_LOG_LEVEL' }),
]
const asked = (address: string) =>
  open(address, { 'GET /v1/settings': { file: '/data/control.yaml', settings: ALL } })

settings('finds a setting by each word in what it is, does and takes, wherever that stands', async () => {
  const keys = ALL.map(({ key }) => key)
  for (const [q, found] of [
    ['', keys],
    ['api', ['api.port', 'api.hosts']],
    ['API box', ['api.hosts']],
    ['box  api ', ['api.hosts']],
    ['svc_api', ['api.port']],
    ['--port', ['api.port']],
    ['domain', ['mesh.name']],
    ['kernel level', ['log.level']],
    ['nothing', []],
  ] as const) {
    const page = await asked(`/settings?q=${encodeURIComponent(q)}`)
    const shown = page.buttons().flatMap((name) => keys.find((key) => name.startsWith(key)) ?? [])
    assert.equal(shown, found, q)
    assert.match(page.text(), `${found.length} of 4 settings`)
  }
  assert.match((await asked('/settings?q=nothing')).text(), 'No setting matches')
})

settings('keeps what is searched for in the address, and what was set apart from what was not', async () => {
  const page = await asked('/settings')
  await page.put('Find a setting', 'a')
  assert.is(page.address(), '/settings?q=a')
  await page.tick('Only set values')
  assert.is(page.address(), '/settings?q=a&set=1')
  assert.match(page.text(), '2 of 4 settings')
  await page.tick('Only set values')
  await page.put('Find a setting', '')
  assert.is(page.address(), '/settings')
})

settings('says what waits for a start even where it is not among what is shown', async () => {
  const page = await asked('/settings?q=port')
  assert.match(page.text(), '1 setting takes effect at the next start of the service: mesh.name')
})

settings('shows a value in a line, and behind it all of it, as the file has it', async () => {
  const page = await asked('/settings')
  const line = (key: string) => page.buttons().find((name) => name.startsWith(key))
  assert.is(line('api.port'), 'api.port 8080')
  assert.is(line('api.hosts'), 'api.hosts ["box"] set')
  assert.is(line('mesh.name'), 'mesh.name empty needs a restart')
  assert.is(line('log.level'), `log.level ${'x'.repeat(40)} … set`)
  for (const [key, yaml, from] of [
    ['api.hosts', 'api:\n  hosts: ["box"]', '/etc/svc/control.yaml'],
    ['mesh.name', 'mesh:\n  name: ""', 'not set'],
    ['log.level', `log:\n  level: "${'x'.repeat(60)}"`, 'SVC_LOG_LEVEL'],
  ] as const) {
    await page.press(line(key) ?? '')
    assert.is(document.getElementById(key)?.querySelector('pre')?.textContent, yaml)
    assert.match(page.text(), from)
  }
})

settings('says which file is changed, and that pages write it by themselves', async () => {
  const page = await asked('/settings')
  assert.match(page.text(), 'it writes into /data/control.yaml by itself')
  assert.not.match(page.text(), '/etc/svc/control.yaml (')
})

settings.run()
