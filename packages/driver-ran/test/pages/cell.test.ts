import { readFile } from 'node:fs/promises'
import { type Answers, h, inBrowser, Refusal, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Panel } = await import('../../pages/cell.tsx')
const { KINDS, SWITCH_FIELDS, cellSettings, typedCell, typedFields } = await import(
  '../../pages/cell-form.ts'
)

/** A vendor's cell as the console sets it up. */
const cell = suite('driver-ran/cell-page')
inBrowser(cell)

const SWITCHES = {
  command: {
    on: ['/etc/svc/switch.d/relay', '3', 'on'],
    off: ['/etc/svc/switch.d/relay', '3', 'off'],
    status: ['/etc/svc/switch.d/relay', '3'],
    env_file: '/etc/svc/switch.d/relay.env',
  },
  http: {
    on: { method: 'GET', url: 'http://10.0.0.9/on' },
    off: { method: 'GET', url: 'http://10.0.0.9/off' },
    status: { url: 'http://10.0.0.9/status', pointer: '/output', on: true, off: 0 },
    power: { pointer: '/apower' },
    channel: { pointer: '/earfcn' },
  },
  snmp: {
    ...{ host: '10.0.0.2', group: 1, port_index: 7, power: { oid: '1.3.6.1.4.1.1', per_watt: 1000 } },
    community_file: '/etc/svc/switch.d/community',
  },
  genieacs: { url: 'http://127.0.0.1:7557', device: '202BC1-SmallCell-000000', channel: 'Device.X' },
}
const inForceOf = (values: object) => (key: string) => Reflect.get(values, key)

cell('each kind of switch comes out of the form as it went in', () => {
  assert.equal(Object.keys(SWITCHES), [...KINDS])
  for (const kind of KINDS) {
    const inForce = inForceOf({ 'ran.external.switch': { [kind]: SWITCHES[kind] } })
    const typed = typedCell(inForce, undefined)
    assert.is(typed.kind, kind)
    assert.equal(cellSettings(typed, inForce)['ran.external.switch'], { [kind]: SWITCHES[kind] })
    // The same, typed by hand.
    const nothing = inForceOf({})
    const written = cellSettings({ ...typedCell(nothing, undefined), kind, fields: typed.fields }, nothing)
    assert.equal(written['ran.external.switch'], { [kind]: SWITCHES[kind] })
  }
})

cell('what the form does not show stays, and what is not shown whole is typed again', () => {
  const inForce = inForceOf({
    'ran.external.switch': {
      http: {
        ...SWITCHES.http,
        on: { method: 'PUT', url: 'http://10.0.0.9/***' },
        expected_status: [204],
        power: undefined,
      },
    },
  })
  const fields = typedFields('http', inForce)
  assert.is(fields.onUrl, '')
  const typed = { ...typedCell(inForce, undefined), fields }
  const { http } = Object(cellSettings(typed, inForce)['ran.external.switch'])
  assert.equal(http.expected_status, [204])
  assert.is(http.on.url, undefined, 'nobody is called at a URL of which a part is hidden')
  assert.is('power' in http, false)
})

const answers = (more: object = {}): Answers => ({
  'GET /v1/settings': { settings: [{ key: 'ran.program', value: 'srsenb' }] },
  'GET /v1/tx/profiles': { profiles: [] },
  'PUT /v1/tx/profiles/cell': { id: 'cell' },
  'PUT /v1/settings': { applied: true, file: '/etc/svc/control.yaml', writable: true, lines: '', fixed: [] },
  ...more,
})

cell('sets up a cell with its switch, its fallback and its profile', async () => {
  const page = await show(() => h(Panel, {}), answers())
  await page.press('Set up a cell')
  await page.put('How it is switched', 'snmp')
  for (const [label, value] of [
    ['eNB or gNB ID', '411'],
    ['IPv4 address of the cell', '10.0.0.50'],
    ['Address of the switch', '10.0.0.2'],
    ['Index of the port', '7'],
    ['File with the community (SNMPv2c)', 'community'],
    ['Repeat the order to turn on every', '30s'],
    ['EARFCN or NR-ARFCN (downlink)', '3350'],
    ['Band', 'b7'],
    ['Width, MHz', '10'],
    ['Radiated power (EIRP), dBm', '27,5'],
  ] as const)
    await page.put(label, value)
  await page.press('Save')
  const settings = {
    ...{ 'ran.program': 'external', 'ran.external.technology': 'lte', 'ran.external.address': '10.0.0.50' },
    'ran.external.switch': {
      snmp: { host: '10.0.0.2', port_index: 7, community_file: '/etc/svc/switch.d/community' },
    },
    ...{ 'ran.external.refresh': '30s', 'ran.external.stays_on': false, 'ran.enb_id': 411 },
  }
  const profile = { technology: 'lte', channel: 3350, bandwidth_mhz: 10, band: 'b7', eirp_dbm: 27.5 }
  assert.equal(page.changes(), [
    ['PUT /v1/settings', { settings }],
    ['PUT /v1/tx/profiles/cell', profile],
    ['PUT /v1/settings', { settings }],
  ])
})

cell(
  'says at the ID of the profile what is refused of it, and at the one of the cell what is of that',
  async () => {
    const refusal = (pointer: string) =>
      new Refusal(400, 'validation_failed', 'no', [
        { pointer, message: 'too long', rule: 'maxLength', limit: 1 },
      ])
    const complaints = async (pointer: string, at: string) => {
      const page = await show(() => h(Panel, {}), answers({ [at]: refusal(pointer) }))
      await page.press('Set up a cell')
      await page.put('How it is switched', 'snmp')
      for (const [label, value] of [
        ['eNB or gNB ID', '411'],
        ['IPv4 address of the cell', '10.0.0.50'],
        ['Address of the switch', '10.0.0.2'],
        ['Index of the port', '7'],
        ['EARFCN or NR-ARFCN (downlink)', '3350'],
        ['Width, MHz', '10'],
      ] as const)
        await page.put(label, value)
      await page.press('Save')
      return ['eNB or gNB ID', 'Name of the profile'].map((label) => page.complaint(label) !== '')
    }
    assert.equal(await complaints('/id', 'PUT /v1/tx/profiles/cell'), [false, true])
    assert.equal(await complaints('/settings/ran.enb_id', 'PUT /v1/settings'), [true, false])
  },
)

cell('shows the lines where the service may not write the file', async () => {
  const page = await show(
    () => h(Panel, {}),
    answers({
      'GET /v1/settings': {
        settings: [
          { key: 'ran.program', value: 'external' },
          { key: 'ran.enb_id', value: 411 },
          { key: 'ran.external.technology', value: 'lte' },
          { key: 'ran.external.switch', value: { command: SWITCHES.command } },
        ],
      },
      'GET /v1/tx/profiles': {
        profiles: [
          {
            ...{ id: 'mast', technology: 'lte', channel: 3350, band: 'b7', bandwidth_mhz: 10 },
            ...{ eirp_dbm: null, source: 'file', armed: false },
          },
        ],
      },
      'PUT /v1/settings': {
        ...{ applied: false, file: '/etc/svc/control.yaml', writable: false, fixed: [] },
        lines: 'ran:\n  program: external\n',
      },
    }),
  )
  assert.match(page.text('A cell of a vendor'), /Command/)
  await page.press('Change the cell')
  assert.match(page.text(), 'in the configuration file, and is not changed here')
  await page.press('Save')
  assert.match(page.text(), /program: external/)
  assert.equal(
    page.changes().map(([what]) => what),
    ['PUT /v1/settings'],
    'a profile of the file is not written',
  )
})

cell('has a label in each language for each field', async () => {
  const keys = KINDS.flatMap((kind) => SWITCH_FIELDS[kind].map(({ key }) => `radio.cell.f.${key}`))
  for (const language of ['de', 'en', 'es', 'fr', 'pt']) {
    const texts = new URL(`../../texts/${language}.json`, import.meta.url)
    const known = new Set(Object.keys(JSON.parse(await readFile(texts, 'utf8'))))
    assert.equal(
      keys.filter((key) => !known.has(key)),
      [],
      language,
    )
  }
})

cell.run()
