import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { valueAt } from '../src/config-tree.ts'
import { environmentTable } from '../src/environment.ts'
import { leavesOf, mergedSchema } from '../src/schema-tree.ts'
import { load, SECTIONS } from './load-helper.ts'

const environment = suite('config/environment')

/** "Environment overrides" of the specification, without the admin token, which is no configuration. */
const SPECIFIED = [
  ['SVC_SERVER_LISTEN', 'server.listen'],
  ['SVC_SERVER_DATADIR', 'server.data_dir'],
  ['SVC_SERVER_MODE', 'server.mode'],
  ['SVC_SERVER_COUNTRY', 'server.country'],
  ['SVC_SERVER_LOGLEVEL', 'server.log_level'],
  ['SVC_PLMN_MCC', 'plmn.mcc'],
  ['SVC_PLMN_MNC', 'plmn.mnc'],
  ['SVC_TAC', 'tac'],
  ['SVC_SOUTHBOUND_DRIVER', 'southbound.driver'],
  ['SVC_HSS_DRIVER', 'hss.driver'],
  ['SVC_HSS_CONTAINER', 'hss.container'],
  ['SVC_PEERING_DISABLED', 'peering.enabled'],
  ['SVC_POLICY_LOCAL_BREAKOUT', 'policy.local_breakout'],
  ['SVC_CORE', 'core'],
  ['SVC_CORE_B_AMF_OAM_URL', 'core_b.amf_oam_url'],
  ['SVC_CORE_B_CDR_DIR', 'core_b.cdr_dir'],
  ['SVC_COLLECTOR_ENABLED', 'collector.enabled'],
  ['SVC_COLLECTOR_MME_URL', 'collector.mme_url'],
  ['SVC_COLLECTOR_SMF_URL', 'collector.smf_url'],
  ['SVC_COLLECTOR_UPF_ENABLED', 'collector.upf.enabled'],
  ['SVC_COLLECTOR_UPF_IFACE', 'collector.upf.iface'],
  ['SVC_ESIM_ENABLED', 'esim.enabled'],
  ['SVC_ESIM_SMDP_ADDRESS', 'esim.smdp_address'],
  ['SVC_ESIM_SINGLE_USE', 'esim.single_use'],
  ['SVC_ALERTS_ENABLED', 'alerts.enabled'],
  ['SVC_FAIRUSE_ENABLED', 'fairuse.enabled'],
] as const

/** Keys and defaults of the specification's table "YAML config keys". */
const SPECIFIED_DEFAULTS: Readonly<Record<string, unknown>> = {
  'server.listen': ':8080',
  'server.data_dir': '/var/lib/svc',
  'server.mode': 'lab',
  'server.country': 'LAB',
  'server.log_level': 'info',
  'server.log_format': 'json',
  'plmn.mcc': '999',
  'plmn.mnc': '99',
  tac: 7,
  apns: ['internet', 'ims'],
  'auth.bootstrap_token_ttl': '5m',
  'auth.admin_token_env': 'SVC_ADMIN_TOKEN',
  'southbound.driver': 'none',
  'hss.driver': 'docdb_shell',
  'hss.container': 'mongo',
  'peering.enabled': true,
  'peering.mdns': true,
  'policy.local_breakout': true,
  'policy.max_ues': 128,
  'policy.apns': ['internet', 'ims'],
  'telemetry.metrics': true,
  core: 'core_a',
  'core_b.amf_oam_url': 'http://amf:8000',
  'core_b.cdr_dir': '',
  'collector.enabled': false,
  'collector.interval': '15s',
  'collector.mme_url': 'http://127.0.0.2:9090',
  'collector.smf_url': '',
  'collector.upf.enabled': false,
  'collector.upf.iface': '',
  'fairuse.enabled': false,
  'fairuse.usage_interval': '60s',
  'tls.enabled': false,
}

const SCHEMA = mergedSchema(SECTIONS)
const table = environmentTable(SCHEMA)

environment('has every variable of the specification on its key', () => {
  for (const [variable, key] of SPECIFIED) {
    assert.is(table.find((row) => row.variable === variable)?.key, key, variable)
  }
})

environment('has a variable for every key of the specification, and its default', () => {
  const { settings } = load('')
  for (const [key, expected] of Object.entries(SPECIFIED_DEFAULTS)) {
    assert.ok(
      table.some((row) => row.key === key),
      `${key} has no variable`,
    )
    const value = key
      .split('.')
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], settings)
    assert.equal(value, expected, key)
  }
})

environment('has a variable for every value that fits one, each once, with the prefix', () => {
  const scalars = leavesOf(SCHEMA).filter(({ schema }) => {
    const items = schema.items as { type?: unknown } | undefined
    return schema.type !== 'object' && (schema.type !== 'array' || items?.type === 'string')
  })
  assert.equal(
    table.map(({ key }) => key),
    scalars.map(({ path }) => path.join('.')),
  )
  assert.is(new Set(table.map(({ variable }) => variable)).size, table.length)
  assert.ok(table.every(({ variable }) => /^SVC_[A-Z0-9_]+$/.test(variable)))
})

environment('reads lists, numbers and the six words of a boolean', () => {
  const env = {
    SVC_APNS: ' internet , ims2,',
    SVC_TAC: '0070',
    SVC_TELEMETRY_METRICS: 'No',
    SVC_TLS_ENABLED: '0',
  }
  const { settings } = load('', { env })
  assert.equal(settings.apns, ['internet', 'ims2'])
  assert.is(settings.tac, 70)
  assert.is(settings.telemetry.metrics, false)
  for (const word of ['true', '1', 'yes', 'TRUE', 'Yes']) {
    assert.is(load('', { env: { SVC_POLICY_LOCAL_BREAKOUT: word } }).settings.policy.local_breakout, true)
    assert.is(
      valueAt(load('', { env: { SVC_PEERING_DISABLED: word } }).settings, ['peering', 'enabled']),
      false,
    )
  }
  for (const word of ['false', '0', 'no']) {
    assert.is(
      valueAt(load('', { env: { SVC_PEERING_DISABLED: word } }).settings, ['peering', 'enabled']),
      true,
    )
  }
})

environment('takes an empty variable as not set', () => {
  assert.is(load('tac: 9', { env: { SVC_TAC: '', SVC_PEERING_DISABLED: ' ' } }).settings.tac, 9)
})

environment('warns of variables that nothing reads, and knows the others', () => {
  const env = {
    SVC_SERVER_LISTN: ':1',
    SVC_ADMIN_TOKEN: 'x',
    SVC_TEST_PG_URL: 'x',
    SVC_URL: 'x',
    PATH: '/bin',
    SVC_ZZZZZZ: '1',
  }
  assert.equal(load('', { env, knownVariables: ['SVC_URL'] }).warnings, [
    'SVC_SERVER_LISTN: no such variable; it has no effect. Did you mean SVC_SERVER_LISTEN?',
    'SVC_ZZZZZZ: no such variable; it has no effect.',
  ])
})

environment('does not call the variable of the admin token unknown when another name is configured', () => {
  const env = { SVC_MY_TOKEN: 'x' }
  assert.equal(load('auth: {admin_token_env: SVC_MY_TOKEN}', { env }).warnings, [])
})

environment.run()
