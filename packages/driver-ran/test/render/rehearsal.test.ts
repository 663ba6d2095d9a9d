import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RadioProfile, type Settings, southboundUnavailable } from '@steeple/contracts'
import { assert, fakeContext, type Overrides, suite, tempDir } from '@steeple/testkit'
import { rehearsal } from '../../src/supervisor/radio-start.ts'

const test = suite('driver-ran/rehearsal')

const PROFILE: RadioProfile = { technology: 'lte', channel: 1300, bandwidth_mhz: 10, tx_gain_db: 60 }

async function tried(
  ran: Overrides<Settings>['ran'],
  profile = PROFILE,
  launcher: () => Promise<void> = async () => undefined,
) {
  await using dir = await tempDir()
  const binary = join(dir.path, 'srsenb')
  await writeFile(binary, '')
  await chmod(binary, 0o755)
  const settings = { ran: { binary, device_name: 'uhd', ...ran } }
  const { context } = fakeContext({ id: 'driver-ran', config: {}, settings })
  return await rehearsal(context, profile, '/var/lib/svc/ran', launcher)
}

test('shows the files of a profile that passes, and writes none', async () => {
  const { program, files, checks } = await tried({})
  assert.is(program, 'srsenb')
  assert.equal(
    files.map(({ name }) => name),
    ['enb.conf', 'rr.conf', 'sib.conf', 'rb.conf'],
  )
  assert.match(files.find(({ name }) => name === 'enb.conf')?.text ?? '', 'tx_gain = 60')
  assert.match(files.find(({ name }) => name === 'rr.conf')?.text ?? '', 'dl_earfcn = 1300')
  assert.equal(checks, [
    { check: 'configuration', problems: [] },
    { check: 'program', problems: [] },
    { check: 'machine', problems: [] },
  ])
  assert.equal(
    (await tried({ container: 'radio' })).checks.map(({ check }) => check),
    ['configuration', 'program'],
  )
})

test('says each reason of each check that fails', async () => {
  const wrong = await tried({ bind_addr: '192.0.2.77' }, { ...PROFILE, technology: 'nr', tx_gain_db: 0 })
  assert.equal(wrong.files, [])
  const [configuration] = wrong.checks
  for (const part of ['bind_addr', 'tx_gain_db', 'srsenb'])
    assert.ok(
      configuration?.problems.some((problem) => problem.includes(part)),
      part,
    )
  const { checks } = await tried({ binary: '/nowhere/srsenb' }, PROFILE, async () => {
    throw southboundUnavailable('setpriv is missing')
  })
  assert.equal(
    checks.map(({ problems }) => problems.join()),
    ['', 'ran.binary /nowhere/srsenb is not there or cannot be read', 'setpriv is missing'],
  )
})

test.run()
