import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, type TempDir, tempDir } from '@steeple/testkit'
import { planSettings, writeSettings } from '../src/change-settings.ts'
import { type ConfigOptions, loadConfig } from '../src/load-config.ts'
import { SECTIONS, SURROUNDINGS } from './load-helper.ts'

const change = suite('settings/change')

let temp: TempDir
let file: string
change.before.each(async () => {
  temp = await tempDir()
  file = join(temp.path, 'control.yaml')
})
change.after.each(() => temp[Symbol.asyncDispose]())

const optionsOf = (more: Partial<ConfigOptions> = {}): ConfigOptions => ({
  file,
  env: {},
  sections: SECTIONS,
  surroundings: SURROUNDINGS,
  ...more,
})

function refusal(work: () => unknown): {
  readonly code: string
  readonly message: string
  readonly details?: unknown
} {
  try {
    work()
  } catch (error) {
    return error as ReturnType<typeof refusal>
  }
  throw new Error('nothing was refused')
}

change('writes keys into the file, and leaves all else as it stands there', () => {
  writeFileSync(file, '# Ours.\nserver:\n  mode: lab # until the licence comes\nplmn:\ntac: 0x10\n')
  chmodSync(file, 0o604)
  const planned = planSettings(optionsOf(), { 'server.country': 'DE', 'plmn.mcc': '001', 'plmn.mnc': '070' })
  assert.match(readFileSync(file, 'utf8'), /plmn:\ntac/)
  assert.ok(planned.isWritable)
  assert.equal(planned.fixed, [])
  assert.is(planned.lines, 'server:\n  country: DE\nplmn:\n  mcc: "001"\n  mnc: "070"\n')
  writeSettings(planned)
  const text = readFileSync(file, 'utf8')
  for (const kept of ['# Ours.', 'mode: lab # until the licence comes', 'tac: 0x10']) assert.match(text, kept)
  const { settings } = loadConfig(optionsOf())
  assert.is(settings.server.country, 'DE')
  assert.equal({ ...(settings as unknown as { plmn: object }).plmn }, { mcc: '001', mnc: '070' })
  assert.is(statSync(file).mode & 0o777, 0o604)
})

change('is not kept from it by what a process of the same number left', () => {
  writeFileSync(file, 'tac: 9\n')
  // In a container every service is process 1.
  writeFileSync(join(temp.path, `.control.yaml.${process.pid}-00c0ffee.tmp`), 'tac: 1')
  writeSettings(planSettings(optionsOf(), { tac: 10 }))
  assert.is(readFileSync(file, 'utf8'), 'tac: 10\n')
  assert.equal(readdirSync(temp.path), ['control.yaml'])
})

change('loses no edit that somebody made between the look and the change', () => {
  writeFileSync(file, 'tac: 9\n')
  const planned = planSettings(optionsOf(), { tac: 10 })
  writeFileSync(file, 'tac: 9\nplmn: {mcc: "262", mnc: "98"}\n')
  assert.match(refusal(() => writeSettings(planned)).message, /was edited in the meantime/)
  assert.match(readFileSync(file, 'utf8'), /262/)
})

change('follows a link to the file, and keeps it', () => {
  const target = join(temp.path, 'real.yaml')
  writeFileSync(target, 'tac: 9\n')
  symlinkSync(target, file)
  writeSettings(planSettings(optionsOf(), { tac: 10 }))
  assert.is(readFileSync(target, 'utf8'), 'tac: 10\n')
})

change('changes no key but those that may be, and only to what they take', () => {
  writeFileSync(file, 'tac: 9\n')
  const of = (changes: Readonly<Record<string, unknown>>) => refusal(() => planSettings(optionsOf(), changes))
  for (const key of ['server.data_dir', 'ran.binary', 'no.such', '__proto__.x'])
    assert.equal([of({ [key]: 'x' }).code, of({ [key]: 'x' }).details].flat().length, 2, key)
  const wrong = of({ 'plmn.mcc': '26', tac: 9 })
  assert.is(wrong.code, 'validation_failed')
  assert.match(JSON.stringify(wrong.details), '/settings/plmn.mcc')
  assert.is(readFileSync(file, 'utf8'), 'tac: 9\n')
})

change('names a program only from the list of its key', () => {
  writeFileSync(file, 'tac: 9\n')
  const of = (binary: unknown) => refusal(() => planSettings(optionsOf(), { 'ran.binary': binary }))
  for (const binary of ['/tmp/srsenb', '/usr/bin/../../tmp/srsenb', '/usr/bin/bash', '', 7])
    assert.match(of(binary).message, 'one of /usr/bin/srsenb')
  const planned = planSettings(optionsOf(), { 'ran.binary': '/usr/bin/srsenb', 'ran.device_name': 'uhd' })
  assert.is(planned.lines, 'ran:\n  binary: /usr/bin/srsenb\n  device_name: uhd\n')
})

change('takes a program and a file with a secret only from where its key says', () => {
  writeFileSync(file, 'tac: 9\n')
  const set = (value: object) => planSettings(optionsOf(), { 'ran.external.switch': value })
  const relay = '/etc/svc/switch.d/relay'
  const command = { on: [relay, 'on; reboot'], off: [relay, 'off'], status: [relay] }
  assert.match(set({ command }).lines, /on; reboot/)
  const http = {
    ...{ on: { url: 'http://10.0.0.9/on' }, off: { url: 'http://10.0.0.9/off' } },
    status: { url: 'http://10.0.0.9/', pointer: '/on', on: true, off: false },
  }
  assert.match(set({ http }).lines, /pointer: \/on/)
  for (const program of ['/bin/sh', `${relay}/../../../../bin/sh`, '/etc/svc/switch.d/', 'relay'])
    for (const name of ['on', 'off', 'status'])
      assert.match(refusal(() => set({ command: { ...command, [name]: [program] } })).message, /switch\.d/)
  for (const secret of ['/etc/shadow', '/var/lib/svc/keys/vault', '/etc/svc/switch.d/../control.yaml']) {
    assert.match(refusal(() => set({ http: { ...http, authorization_file: secret } })).message, /switch\.d/)
    const snmp = { host: '10.0.0.2', port_index: 7, community_file: secret }
    assert.match(refusal(() => set({ snmp })).message, /switch\.d/)
  }
  assert.is(refusal(() => set({ http: { on: 1 } })).code, 'validation_failed')
  assert.is(readFileSync(file, 'utf8'), 'tac: 9\n')
})

change('takes what was found on the machine for a key of the file alone, and no other value', () => {
  writeFileSync(file, 'tac: 9\n')
  const found = { 'server.data_dir': '/srv/svc' }
  const planned = planSettings(optionsOf(), { 'server.data_dir': '/srv/svc' }, found)
  assert.is(planned.lines, 'server:\n  data_dir: /srv/svc\n')
  const other = refusal(() => planSettings(optionsOf(), { 'server.data_dir': '/etc' }, found))
  assert.match(other.message, 'is changed in')
})

change('says who decides a key in the place of the file', () => {
  writeFileSync(file, '')
  const planned = planSettings(optionsOf({ env: { SVC_PLMN_MCC: '999' } }), { 'plmn.mcc': '262', tac: 3 })
  assert.equal(planned.fixed, [{ key: 'plmn.mcc', by: 'SVC_PLMN_MCC' }])
  const refused = refusal(() => writeSettings(planned))
  assert.is(refused.code, 'settings_fixed')
  assert.match(refused.message, 'SVC_PLMN_MCC')
  assert.is(readFileSync(file, 'utf8'), '')
})

change('says where it may not write, and what to do', () => {
  file = join(temp.path, 'none', 'control.yaml')
  const planned = planSettings(optionsOf({ readFile: () => '' }), { tac: 3 })
  assert.not(planned.isWritable)
  assert.match(refusal(() => writeSettings(planned)).message, /write the lines into it yourself and reload/)
})

change('leaves alone what it cannot read', () => {
  writeFileSync(file, 'tac: [1\n')
  assert.is(refusal(() => planSettings(optionsOf(), { tac: 3 })).code, 'validation_failed')
})

change.run()
