import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PlacedDesired } from '@steeple/southbound'
import { assert, defaultSettings, suite } from '@steeple/testkit'
import { maxUeOf, type RenderSettings } from '../src/render/core-plan.ts'
import { machineNotes } from '../src/render/plan-notes.ts'
import { daemonOfFile, renderCore } from '../src/render/render.ts'
import { DESIRED, settingsWith } from './support/desired.ts'

const render = suite('driver-core-a/render')
const GOLDEN = join(import.meta.dirname, '..', 'fixtures', 'rendered')

/** Each is a folder of golden files, reviewed by hand. */
const CASES: Readonly<Record<string, readonly [Partial<PlacedDesired>, Partial<RenderSettings>]>> = {
  'lte-only': [{}, {}],
  'five-g': [{ addresses: { n3: '192.0.2.7' } }, { ranProgram: 'gnb' }],
  'both-generations': [
    {
      plmn: { mcc: '310', mnc: '014' },
      tac: 65_535,
      apns: ['internet', 'ims', 'no', '0x10'],
      maxUes: 2_000,
      addresses: {
        mme: '10.9.0.2',
        sgwu: '10.9.0.6',
        amf: '10.9.0.5',
        s1u: '192.0.2.6',
        dns: '10.9.0.53',
        mongo: 'mongo',
      },
    },
    {
      slices: [{ sst: 1 }, { sst: 1, sd: '00A0B0' }, { sst: 128, sd: '000010' }],
      subnet: '10.60.0.0/18',
      mongoUrl: 'mongodb://core:p%40ss@db.example:27018/?replicaSet=rs0',
    },
  ],
  'mnc-05': [{ plmn: { mcc: '001', mnc: '05' }, tac: 8 }, {}],
  'ipv6-pool': [{}, { subnet: '2001:db8:cafe::/48' }],
  'one-apn': [{ apns: ['internet'] }, {}],
}

for (const [name, [desired, settings]] of Object.entries(CASES)) {
  render(`writes the reviewed files: ${name}`, async () => {
    const { files } = renderCore({ ...DESIRED, ...desired }, settingsWith(settings))
    if (process.env.STEEPLE_UPDATE_GOLDEN === '1') await writeGolden(join(GOLDEN, name), files)
    assert.equal([...files.keys()].toSorted(), await pathsIn(join(GOLDEN, name)))
    for (const [path, content] of files) {
      assert.fixture(content, await readFile(join(GOLDEN, name, path), 'utf8'), path)
    }
  })
}

render('tells phones the name and the DNS servers that the settings have', () => {
  const { files } = renderCore(
    { ...DESIRED, addresses: { ...DESIRED.addresses, dns: '10.9.0.53' } },
    settingsWith({ networkName: 'Harbour', dns: ['9.9.9.9', '2620:fe::fe'] }),
  )
  assert.match(files.get('mme.yaml') ?? '', /network_name:\s+full: "?Harbour"?\s+short: "?Harbour"?/)
  assert.match(files.get('smf.yaml') ?? '', /dns:\s+- "?9\.9\.9\.9"?\s+- "?2620:fe::fe"?\s+mtu/)
})

render('gives every problem one line that names the key, the value and what is allowed', () => {
  const desired: PlacedDesired = {
    plmn: { mcc: '1', mnc: '9' },
    tac: 70_000,
    apns: ['internet', 'Internet', 'bad apn', 'rac1', 'e'],
    maxUes: 60_000,
    addresses: { mme: 'not an ip', sgwu: '10.45.0.6', smf: '127.0.0.3', hsss: '127.0.0.1', pcrf: '::1' },
  }
  const lines = problemsIn(desired)
  assert.equal(lines, [
    'plmn.mcc is "1"; allowed are 3 digits',
    'plmn.mnc is "9"; allowed are 2 or 3 digits',
    'tac is 70000; allowed is 0 to 65535 in LTE',
    'apns.1 is "Internet" a second time',
    'apns.2 is "bad apn": it has the label "bad apn", which is not letters, digits and inner hyphens',
    'apns.3 is "rac1": it starts with "rac", which is reserved',
    'core_a.addresses.mme is "not an ip"; allowed is an IPv4 address',
    'core_a.addresses.hsss names no role; roles are amf, ausf, bsf, dns, dns2, hss, mme, mongo, n3, nrf, nssf, pcf, pcrf, s1u, scp, sgwc, sgwu, smf, udm, udr, upf',
    'core_a.addresses.pcrf is "::1"; allowed is an IPv4 address',
    'core_a.addresses.sgwc is "127.0.0.3", where smf listens too (gtpc)',
    'core_a.addresses.sgwc is "127.0.0.3", where smf listens too (pfcp)',
    'core_a.subnet is "10.45.0.0/16" with 8189 addresses for each of 5 APNs; allowed is a range for 60000 phones',
    'core_a.addresses.sgwu lies in core_a.subnet "10.45.0.0/16", whose addresses are the phones\'',
  ])
})

render('gives the UDM its home network keys, and says nothing of them elsewhere', async () => {
  const keys = [
    { id: 1, scheme: 1, pem: 'KEY-ONE\n' },
    { id: 2, scheme: 2, pem: 'KEY-TWO\n' },
  ] as const
  const settings = { ...settingsWith({ ranProgram: 'gnb' }), homeKeys: keys }
  const { files } = renderCore(DESIRED, settings)
  assert.is(files.get('hnet/hnet-1.key'), 'KEY-ONE\n')
  assert.match(
    files.get('udm.yaml') ?? '',
    /hnet:\n +- id: 1\n +scheme: 1\n +key: "\/etc\/open5gs\/hnet\/hnet-1\.key"\n +- id: 2\n +scheme: 2/,
  )
  const others = [...files].filter(([path]) => !path.startsWith('hnet/')).map(([, content]) => content)
  assert.not.match(others.join(), /KEY-/)
  assert.is(daemonOfFile('hnet/hnet-2.key'), 'udm')
  const lte = renderCore(DESIRED, { ...settingsWith({}), homeKeys: keys })
  assert.not.ok([...lte.files.keys()].some((path) => path.startsWith('hnet/')))
})

render('asks for memory by the phones that are admitted, and says how much that is', () => {
  assert.equal([1, 128, 600, 2_000, 20_000, 100_000].map(maxUeOf), [1024, 1024, 1200, 4000, 28_192, 108_192])
  const settings = defaultSettings()
  const notesFor = (max_ues: number) => machineNotes({ ...settings, policy: { ...settings.policy, max_ues } })
  assert.equal(notesFor(2_000), [])
  assert.match(
    notesFor(20_000).join(),
    /global\.max\.ue is 28192 for policy\.max_ues 20000.*3\.5 GB of memory/,
  )
})

render('takes a 24-bit tracking area without LTE, and a 16-bit one with it', () => {
  const desired = { ...DESIRED, tac: 0xffffff }
  assert.match(problemsIn(desired).join(), /tac is 16777215; allowed is 0 to 65535 in LTE/)
  const { files } = renderCore(desired, settingsWith({ ranProgram: 'gnb' }))
  assert.match(String(files.get('amf.yaml')), 'tac: "16777215"')
  assert.not.ok(files.has('mme.yaml'))
  assert.match(problemsIn({ ...desired, tac: 0x1000000 }, { ranProgram: 'gnb' }).join(), /16777215 in NR/)
})

render('takes up to 16 APNs, each with its part of the pool, and refuses none and more', () => {
  const apns = (count: number) => Array.from({ length: count }, (_, index) => `apn${index}`)
  const { files } = renderCore({ ...DESIRED, apns: apns(16) }, settingsWith())
  assert.is(files.get('smf.yaml')?.match(/dnn:/g)?.length, 16)
  for (const count of [0, 17])
    assert.match(
      problemsIn({ ...DESIRED, apns: apns(count) }).join(),
      `apns has ${count} entries; allowed are 1 to 16`,
    )
})

render('refuses pools that are none, too small, or written as an address in them', () => {
  for (const [subnet, words] of [
    ['10.45.0.0', /allowed is a range/],
    ['10.45.0.0/33', /allowed is a range/],
    ['10.45.0.1/16', /an address in 10\.45\.0\.0\/16; write the range/],
    ['10.45.0.0/24', /with 125 addresses for each of 2 APNs; allowed is a range for 128 phones/],
    ['2001:db8::/63', /with 0 addresses/],
    ['2001:db8::1/48', /an address in 2001:db8::\/48/],
  ] as const) {
    assert.match(problemsIn(DESIRED, { subnet }).join('\n'), words, subnet)
  }
})

render('refuses slices that the core would take wrongly', () => {
  const slices = [{ sst: 1 }, { sst: 256 }, { sst: 1, sd: 'ffffff' }, { sst: 2, sd: '12' }]
  const lines = problemsIn(DESIRED, { slices, ranProgram: 'gnb' })
  assert.equal(lines, [
    'core_a.slices.1.sst is 256; allowed is 0 to 255',
    'core_a.slices.2 is slice 1-ffffff a second time',
    'core_a.slices.3.sd is "12"; allowed are 6 hexadecimal digits',
  ])
})

render('gives other files for other APNs, and the same for another order of them', () => {
  const rendered = (...apns: readonly string[]) => renderCore({ ...DESIRED, apns }, settingsWith()).sha256
  assert.is(rendered('internet', 'ims'), rendered('ims', 'internet'))
  assert.is.not(rendered('internet', 'ims'), rendered('internet'))
})

render('has the info API answer where the collector asks', () => {
  const { files } = renderCore(
    DESIRED,
    settingsWith({ mmeUrl: 'http://10.7.0.2:9091', smfUrl: 'http://smf:80' }),
  )
  assert.match(
    String(files.get('mme.yaml')),
    /metrics:\n {4}server:\n {6}- address: "10\.7\.0\.2"\n {8}port: 9091/,
  )
  assert.match(
    String(files.get('smf.yaml')),
    /metrics:\n {4}server:\n {6}- address: "127\.0\.0\.4"\n {8}port: 80/,
  )
})

render('keeps the password of the database out of errors', () => {
  const mongoUrl = 'mongodb://core:hunter2@/open5gs'
  const lines = problemsIn(DESIRED, { mongoUrl }).join('\n')
  assert.match(lines, 'hss.mongo_url is not mongodb://<host>/<database>')
  assert.not.match(lines, 'hunter2')
})

function problemsIn(desired: PlacedDesired, settings: Partial<RenderSettings> = {}): readonly string[] {
  try {
    renderCore(desired, settingsWith(settings))
  } catch (error) {
    // Read as what it is tested to be.
    const { code, message } = error as { code?: string; message: string }
    assert.is(code, 'validation_failed')
    return message.split('\n')
  }
  throw new Error('it must be refused')
}

async function pathsIn(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .toSorted()
}

async function writeGolden(dir: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [path, content] of files) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), content)
  }
}

render.run()
