import { fileURLToPath } from 'node:url'
import { assert, defaultSettings, suite } from '@steeple/testkit'
import { checkTap } from '../src/doctor/parts/collector-gtpu.ts'

const tap = suite('doctor/tap')
const PACKAGES = [fileURLToPath(new URL('../../collector-gtpu', import.meta.url))]

async function said(upf: Readonly<Record<string, unknown>>, packages = PACKAGES): Promise<readonly string[]> {
  const { collector } = defaultSettings()
  // Keys of the tap's own schema are among them.
  const settings = { collector: { ...collector, upf: { ...collector.upf, enabled: true, ...upf } } }
  const checks = await checkTap(settings, packages)
  return checks.filter(({ status }) => status === 'fail').map(({ detail, remedy }) => `${detail}: ${remedy}`)
}

tap('says which interface is not there, and what to do', async () => {
  const missing =
    'there is no interface eth77: correct collector.upf.iface, or bring the interface up; the tap looks for it again'
  assert.ok((await said({ iface: 'eth77', driver: 'nft' })).includes(missing))
  assert.not.ok((await said({ iface: 'lo', driver: 'nft' })).some((text) => text.includes('interface')))
})

tap('says that npm pcap was not built, and what to take instead', async () => {
  const lines = await said({ iface: 'lo', driver: 'pcap' }, [])
  assert.is(lines.length, 1)
  assert.match(lines[0] ?? '', /npm pcap is not there or was not built: .*take collector\.upf\.driver nft/)
})

tap('says which capture is not there, and asks for nothing else', async () => {
  assert.equal(await said({ driver: 'file', file: '/nowhere/x.pcap' }), [
    'there is no capture /nowhere/x.pcap: correct collector.upf.file',
  ])
})

tap('says nothing while the tap is off', async () => {
  assert.equal(await checkTap(defaultSettings(), []), [])
})

tap.run()
