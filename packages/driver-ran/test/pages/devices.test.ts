import { type Answers, h, inBrowser, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Panel } = await import('../../pages/devices.tsx')

/** What is plugged in, and what of it the box can use. */
const one = suite('driver-ran/devices')
inBrowser(one)

const B210 = {
  ...{ name: 'USRP B200 or B210', usb_id: '2500:0020', port: '1-2', in_use: false, problems: [] },
  choices: [
    {
      program: 'srsenb',
      settings: {
        ...{ 'ran.binary': '/usr/bin/srsenb', 'ran.program': 'srsenb' },
        ...{ 'ran.device_name': 'uhd', 'ran.device_args': 'type=b200' },
      },
    },
  ],
}
const machine = (more: object): Answers => ({
  'GET /v1/tx/devices': {
    ...{ usb: true, devices: [], binary: '', hints: [] },
    programs: [
      { program: 'srsenb', path: '/usr/bin/srsenb', in_use: false },
      { program: 'gnb', path: null, in_use: false },
    ],
    ...more,
  },
  'GET /v1/settings': { settings: [] },
  'PUT /v1/settings': { applied: true, file: '/etc/svc/control.yaml', writable: true, lines: '', fixed: [] },
})
const found = (answers: Answers) => show(() => h(Panel, {}), answers)

one('takes a radio that is plugged in by a button, as the service says', async () => {
  const page = await found(machine({ devices: [B210] }))
  assert.match(
    page.text('Found on this box'),
    /USB port 1-2[\s\S]*It can be used\.[\s\S]*\/usr\/bin\/srsenb[\s\S]*not installed/,
  )
  await page.press('Use USRP B200 or B210 with LTE (srsenb)')
  const { settings } = B210.choices[0] ?? {}
  assert.equal(page.changes(), [
    ['PUT /v1/settings', { settings }],
    ['PUT /v1/settings', { settings }],
  ])
})

one('says what is missing, and shows the lines where the service may not write the file', async () => {
  assert.match((await found(machine({ usb: false }))).text(), 'cannot see USB ports')
  assert.match((await found(machine({}))).text(), 'No software radio')
  const slow = {
    ...B210,
    problems: [
      { code: 'usb_2', message: 'x' },
      { code: 'no_access', message: 'y' },
    ],
  }
  const page = await found({
    ...machine({ devices: [slow], hints: ['no_sctp: the kernel has no SCTP'] }),
    'PUT /v1/settings': {
      applied: false,
      file: '/etc/svc/c.yaml',
      writable: false,
      lines: 'ran:',
      fixed: [],
    },
  })
  for (const part of ['It is at USB 2', 'The service may not open it', 'the kernel has no SCTP (no_sctp)'])
    assert.match(page.text('Found on this box'), part)
  await page.press('Use USRP B200 or B210 with LTE (srsenb)')
  assert.match(page.text(), /\/etc\/svc\/c\.yaml/)
})

one.run()
