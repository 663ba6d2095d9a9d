import { assert, suite } from '@steeple/testkit'
import { renderedOf } from '../../src/config-set/files.ts'
import { compared, type FitList, merged, withOurs } from '../../src/overlay/overlay.ts'
import { withOverlays } from '../../src/overlay/overlay-files.ts'

const test = suite('southbound/overlay')

/** Written by hand: blanks, comments, quotes and keys as people have them. */
const THEIRS = `# our MME, ask Ada
logger:
  file:
    path: /var/log/open5gs/mme.log
#  level: info

global:
  max:
    ue: 1024  # more needs more memory
mme:
  freeDiameter: /etc/freeDiameter/mme.conf
  s1ap:
    server:
      - address: 10.0.0.2   # the LAN
  gtpc:
    client:
      sgwc: [ {address: 127.0.0.3} ]
  tai:
    - plmn_id:
        mcc: 001
        mnc: 01
      tac: 7
    - plmn_id: {mcc: 001, mnc: 01}
      tac: [ 8, 9-12 ]
  security:
    integrity_order : [ EIA2, EIA1, EIA0 ]
  time:
#    t3402:
#      value: 720

##### the end
`
const rendered = (tac: string, more = '') =>
  `global:\n  max:\n    ue: 1024\nmme:\n  s1ap:\n    server:\n      - address: "127.0.0.2"\n  tai:\n    - plmn_id:\n        mcc: "001"\n        mnc: "01"\n      tac: "${tac}"\n  time:\n    t3412:\n      value: 540\n${more}`

const lines = (text: string): readonly string[] => text.split('\n')

test('changes the one line of a setting that changed, and no other byte', () => {
  const after = merged('mme.yaml', { theirs: THEIRS, rendered: rendered('7') }, rendered('42'))
  const changed = lines(after).filter((line, at) => line !== lines(THEIRS)[at])
  assert.equal(changed, ['      tac: "42"'])
  assert.is(merged('mme.yaml', { theirs: THEIRS, rendered: rendered('7') }, rendered('7')), THEIRS)
})

test('adds, replaces and removes keys in lines of their own', () => {
  const before = rendered('7', '  name: "a"\n')
  const after = rendered('7', '  dns:\n    - "1.1.1.1"\n    - "9.9.9.9"\n')
  const theirs = `${THEIRS}`.replace('  security:\n', '  name: x # ours\n  security:\n')
  const text = merged('mme.yaml', { theirs, rendered: before }, after)
  assert.is(text.includes('name: x'), false)
  assert.match(text, /\n {2}dns:\n {4}- "1\.1\.1\.1"\n {4}- "9\.9\.9\.9"\n/)
  for (const line of lines(THEIRS)) assert.ok(text.includes(line), line)
  const again = merged(
    'mme.yaml',
    { theirs: text, rendered: after },
    rendered('7', '  dns:\n    - "8.8.8.8"\n'),
  )
  assert.match(again, /\n {2}dns:\n {4}- "8\.8\.8\.8"\n(?! {4}-)/)
})

test('puts a list in the place of another, and a key into a list in brackets', () => {
  const theirs =
    'smf:\n  session:\n    - subnet: 10.45.0.0/16 # all\n    - subnet: 2001:db8::/48\n\n  # resolvers\n  dns: [ 8.8.8.8 ]\n'
  const session = (...subnets: readonly string[]) =>
    `smf:\n  session:\n${subnets.map((one) => `    - subnet: "${one}"\n`).join('')}`
  const overlay = { theirs, rendered: session('10.45.0.0/16') }
  assert.is(
    merged('smf.yaml', overlay, session('10.46.0.0/16', '10.47.0.0/16')),
    'smf:\n  session:\n    - subnet: "10.46.0.0/16"\n    - subnet: "10.47.0.0/16"\n\n  # resolvers\n  dns: [ 8.8.8.8 ]\n',
  )
  const flow = { theirs: 'a: { b: 1 } # x\n', rendered: 'a:\n  b: 1\n' }
  assert.match(merged('a.yaml', flow, 'a:\n  b: 1\n  c: "2"\n'), /a: \{ b: 1, c: "?2"? \} # x/)
})

test('says which keys differ, which are the operator’s own, and no secret', () => {
  const { differences, kept } = compared(THEIRS, rendered('7'))
  assert.equal(
    differences.map(({ key, found, written }) => [key, found, written]),
    [
      ['mme.s1ap.server.0.address', '10.0.0.2', '127.0.0.2'],
      [
        'mme.tai',
        '[{"plmn_id":{"mcc":"001","mnc":"01"},"tac":"7"},{"plmn_id":{"mcc":"001","mnc":"01"},"tac":["8","9-12"]}]',
        '[{"plmn_id":{"mcc":"001","mnc":"01"},"tac":"7"}]',
      ],
      ['mme.time', undefined, '{"t3412":{"value":"540"}}'],
    ],
  )
  assert.equal(kept, ['logger', 'mme.freeDiameter', 'mme.gtpc', 'mme.security'])
  const [secret] = compared(
    'db_uri: mongodb://u:pa55@db/x\n',
    'db_uri: "mongodb://localhost/x"\n',
  ).differences
  assert.is(secret?.found, 'mongodb://<redacted>@db/x')
})

test('takes over single lines of ours', () => {
  const overlay = {
    theirs: 'hss:\n  freeDiameter: /x\n',
    rendered: 'hss:\n  freeDiameter: "/y"\n  use: true\n',
  }
  assert.is(withOurs(overlay, ['hss.use']), 'hss:\n  freeDiameter: /x\n  use: true\n')
  assert.throws(() => withOurs(overlay, ['hss.other']), /hss\.other is no key/)
})

test('does not write into an entry that is somebody else’s', () => {
  const theirs = 's:\n  - subnet: 10.45.0.0/16\n  - subnet: 2001:db8::/48\n'
  const rendered = 's:\n  - subnet: "10.45.0.0/16"\n  - subnet: "10.46.0.0/16"\n'
  assert.is(
    merged('a.yaml', { theirs, rendered }, rendered.replace('10.46', '10.47')),
    's:\n  - subnet: "10.45.0.0/16"\n  - subnet: "10.47.0.0/16"\n',
  )
  assert.is(
    merged('a.yaml', { theirs, rendered }, rendered.replace('10.45', '10.44')),
    's:\n  - subnet: "10.44.0.0/16"\n  - subnet: 2001:db8::/48\n',
  )
})

test('keeps entries of a list in their lines where new ones come behind them, and takes single ones away', () => {
  const theirs =
    'smf:\n  session:\n    # ours\n    - subnet: 10.45.0.0/16   # all\n      dnn: internet\n    - { subnet: 10.46.0.0/16, dnn: corp } # of Ada\n\n  # resolvers\n  dns: [ 8.8.8.8 ]\n'
  const rendered = 'smf:\n  session:\n    - dnn: "corp"\n    - dnn: "internet"\n'
  const fit: FitList = (path, { found }) => {
    assert.equal(path, ['smf', 'session'])
    return [
      ...found.filter((one) => (one as { dnn?: string }).dnn !== 'internet'),
      { subnet: '10.47.0.0/16', dnn: 'iot' },
    ]
  }
  const after = rendered.replace('internet', 'iot')
  assert.is(
    merged('smf.yaml', { theirs, rendered }, after, fit),
    'smf:\n  session:\n    # ours\n    - { subnet: 10.46.0.0/16, dnn: corp } # of Ada\n    - subnet: "10.47.0.0/16"\n      dnn: "iot"\n\n  # resolvers\n  dns: [ 8.8.8.8 ]\n',
  )
  assert.is(merged('smf.yaml', { theirs, rendered }, rendered, fit), theirs)
  const flow = { theirs: 'smf: {session: [{dnn: corp}, {dnn: internet}]}\n', rendered }
  assert.match(merged('smf.yaml', flow, after, fit), /dnn: corp.*10\.47\.0\.0\/16/s)
})

test('leaves out a file of ours that the operator’s files do not name', () => {
  const files = new Map([
    ['mme.yaml', 'mme:\n  freeDiameter: "/etc/open5gs/freeDiameter/mme.conf"\n'],
    ['freeDiameter/mme.conf', 'Port = 3868;\n'],
    ['hss.yaml', 'hss:\n  freeDiameter: "/etc/open5gs/freeDiameter/hss.conf"\n'],
    ['freeDiameter/hss.conf', 'Port = 3868;\n'],
    ['pcrf.yaml', 'pcrf:\n  freeDiameter: "/etc/open5gs/freeDiameter/pcrf.conf"\n'],
    ['freeDiameter/pcrf.conf', 'Port = 3868;\n'],
  ])
  const theirs = 'mme:\n  freeDiameter: /etc/freeDiameter/mme.conf\n'
  const overlays = {
    files: new Map([['mme.yaml', { theirs, rendered: files.get('mme.yaml') ?? '' }]]),
    absent: new Set(['pcrf.yaml']),
  }
  const after = withOverlays(renderedOf(files), overlays)
  assert.equal([...after.files.keys()], ['mme.yaml', 'hss.yaml', 'freeDiameter/hss.conf'])
  assert.is(after.files.get('mme.yaml'), theirs)
})

test('refuses a file that is emptied, or of another daemon', () => {
  const rendered = 'udm:\n  sbi: {}\n'
  for (const theirs of ['', '# nothing\n', 'amf: 5\n', '- a\n'])
    assert.throws(() => merged('udm.yaml', { theirs, rendered }, rendered), /none of the sections udm/)
  assert.is(merged('udm.yaml', { theirs: 'udm: {}\n', rendered }, rendered), 'udm: {}\n')
})

test.run()
