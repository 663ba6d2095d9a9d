import { assert, defaultSettings, suite } from '@steeple/testkit'
import { checkTap } from '../src/doctor.ts'

const tap = suite('collector-gtpu/doctor')

async function said(upf: Readonly<Record<string, unknown>>, from?: string): Promise<readonly string[]> {
  const { collector } = defaultSettings()
  // Keys of the tap's own schema are among them.
  const checks = await checkTap({ upf: { ...collector.upf, enabled: true, ...upf } }, from)
  return checks
    .filter((check) => 'status' in check)
    .filter(({ status }) => status === 'fail')
    .map(({ detail, remedy }) => `${detail}: ${remedy}`)
}

tap('says which interface is not there, and what to do', async () => {
  const missing =
    'there is no interface eth77: correct collector.upf.iface, or bring the interface up; the tap looks for it again'
  assert.ok((await said({ iface: 'eth77', driver: 'nft' })).includes(missing))
  assert.not.ok((await said({ iface: 'lo', driver: 'nft' })).some((text) => text.includes('interface')))
})

tap('says that npm pcap was not built, and what to take instead', async () => {
  const lines = await said({ iface: 'lo', driver: 'pcap' }, '/package.json')
  assert.is(lines.length, 1)
  assert.match(lines[0] ?? '', /npm pcap is not there or was not built: .*take collector\.upf\.driver nft/)
})

tap('says which capture is not there, and asks for nothing else', async () => {
  assert.equal(await said({ driver: 'file', file: '/nowhere/x.pcap' }), [
    'there is no capture /nowhere/x.pcap: correct collector.upf.file',
  ])
})

tap('says nothing while the tap is off', async () => {
  assert.equal(await checkTap(defaultSettings().collector), [])
})

tap.run()
