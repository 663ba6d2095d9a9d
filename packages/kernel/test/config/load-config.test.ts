import { DURATION_PATTERN } from '@steeple/contracts'
import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { checkConfig } from '../../src/config/check-config.ts'
import { DEFAULT_CONFIG_FILE } from '../../src/config/config-sources.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { load, problems, SURROUNDINGS } from './load-helper.ts'

const config = suite('config/load-config')

const absent = (): string => {
  throw Object.assign(new Error('absent'), { code: 'ENOENT' })
}

config('gives the defaults of the specification when nothing is set', () => {
  const { settings, warnings, sources } = loadConfig({
    env: {},
    readFile: absent,
    surroundings: SURROUNDINGS,
  })
  assert.is(settings.server.listen, ':8080')
  assert.is(settings.server.data_dir, '/var/lib/svc')
  assert.equal(settings.plmn, { mcc: '999', mnc: '99' })
  assert.is(settings.tac, 7)
  assert.equal(settings.policy, { local_breakout: true, max_ues: 128, apns: ['internet', 'ims'] })
  assert.is(settings.tls.enabled, false)
  assert.is(sources.get('tac'), 'default')
  assert.equal(warnings, [])
})

config('does without a file at the default path, and not without one that was named', () => {
  const read: string[] = []
  const readFile = (path: string): string => {
    read.push(path)
    return absent()
  }
  loadConfig({ env: {}, readFile, surroundings: SURROUNDINGS })
  assert.equal(read, [DEFAULT_CONFIG_FILE])
  assert.equal(problems('', { file: '/x/y.yaml', readFile }), ['/x/y.yaml: there is no such file'])
})

config('says why a file cannot be read, also at the default path', () => {
  const readFile = (): string => {
    throw Object.assign(new Error('no'), { code: 'EACCES' })
  }
  const report = checkConfig({ env: {}, readFile })
  assert.equal(report, { isValid: false, lines: ['/etc/svc/control.yaml: cannot be read (EACCES)'] })
})

config('takes a flag before the environment before the file before the default', () => {
  const text = 'server:\n  listen: ":1"\n  data_dir: /file\n  log_level: warn\n'
  const env = { SVC_SERVER_LISTEN: ':2', SVC_SERVER_DATADIR: '/env' }
  const { settings, sources } = load(text, { env, flags: { '--listen': ':3' } })
  assert.is(settings.server.listen, ':3')
  assert.is(settings.server.data_dir, '/env')
  assert.is(settings.server.log_level, 'warn')
  assert.is(settings.server.mode, 'lab')
  assert.is(sources.get('server.listen'), '--listen')
  assert.is(sources.get('server.data_dir'), 'SVC_SERVER_DATADIR')
  assert.is(sources.get('server.log_level'), 'control.yaml:4:14')
  assert.is(sources.get('server.mode'), 'default')
})

config('reads JSON, comments, empty groups and an empty file', () => {
  assert.is(load('{"tac": 9}').settings.tac, 9)
  assert.is(load('# nothing\n').settings.tac, 7)
  assert.is(load('').settings.tac, 7)
  const { settings } = load('server:\nesim:\n', {
    env: { SVC_ESIM_ENABLED: 'yes', SVC_ESIM_SMDP_ADDRESS: 'a.example' },
  })
  assert.is(settings.server.listen, ':8080')
  assert.is(settings.esim.enabled, true)
})

config('names file, line, column, key and what is allowed, one line for each problem', () => {
  const text = [
    'server:',
    '  lissten: ":80"',
    '  mode: rg',
    'plmn:',
    '  mnc: 05',
    '  mcc: true',
    'tac: x',
    'max_ues: 3',
    'apns: [internet, "a b"]',
    'policy: {max_ues: 0}',
    'hss: 5',
    'core:',
    '',
  ].join('\n')
  assert.equal(problems(text), [
    'control.yaml:2:3: server.lissten is no key of the configuration. Did you mean server.listen?',
    'control.yaml:3:9: server.mode must be one of lab, rf, not "rg". Did you mean rf?',
    'control.yaml:5:8: plmn.mnc must be text, not the number 05; write it in quotes: "05"',
    'control.yaml:6:8: plmn.mcc must be text, not the boolean true; write it in quotes: "true"',
    'control.yaml:7:6: tac must be a whole number, not "x"',
    'control.yaml:8:1: max_ues is no key of the configuration. Did you mean policy.max_ues?',
    'control.yaml:9:18: apns[1] "a b" is no APN: it has the label "a b", which is not letters, digits and inner hyphens',
    'control.yaml:10:19: policy.max_ues must be at least 1, not 0',
    'control.yaml:11:6: hss must be a map of keys and values, not 5',
    'control.yaml:12:6: core has no value; it must be one of core_a, core_b',
  ])
})

config('names the variable or the flag that is wrong', () => {
  const env = { SVC_TAC: 'abc', SVC_PEERING_DISABLED: 'maybe', SVC_AUTH_METRICS_ALLOW: '10.0.0.0/8, x' }
  assert.equal(problems('', { env, flags: { '--log-level': 'verbose' } }), [
    '--log-level: server.log_level must be one of info, debug, warn, error, not "verbose"',
    'SVC_TAC: tac must be a whole number, not "abc"',
    'SVC_PEERING_DISABLED: peering.enabled must be true, false, 1, 0, yes or no, not "maybe"',
    'SVC_AUTH_METRICS_ALLOW: auth.metrics_allow[1] must be an address range such as 10.0.0.0/8 or fc00::/7, not "x"',
  ])
})

config('reports syntax errors, duplicate keys and a root that is no map', () => {
  assert.match(problems('a: [\n')[0] ?? '', /^control\.yaml:2:1: YAML: /)
  assert.match(problems('server:\n\tmode: lab\n')[0] ?? '', /^control\.yaml:2:1: YAML: Tabs/)
  assert.equal(problems('tac: 1\ntac: 2\n'), [
    'control.yaml:2:1: tac is set twice; first at control.yaml:1:1',
  ])
  assert.equal(problems('[1]'), ['control.yaml:1:1: must be a map of keys and values'])
  assert.equal(problems('? [a]\n: 1\n'), ['control.yaml:1:3: has a key that is no text'])
})

config('bounds what aliases multiply, loops, nesting and size', () => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]']
  for (const [before, name] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg'].map((pair) => [...pair])) {
    bomb.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(',')}]`)
  }
  const limit = /holds more than 50000 values or 32 levels; aliases must not multiply/
  assert.ok(problems(bomb.join('\n')).some((line) => limit.test(line)))
  assert.ok(problems('a: &a [*a]').some((line) => limit.test(line)))
  assert.ok(problems(`${'['.repeat(50)}${']'.repeat(50)}`).length > 0)
  assert.ok(problems('['.repeat(100_000)).length <= 5)
  assert.match(problems(' '.repeat(2_000_000))[0] ?? '', /is larger than/)
  assert.equal(load('apns: &x [internet]\npolicy: {apns: *x}\n').settings.policy.apns, ['internet'])
})

config('refuses names that mean something to JavaScript', () => {
  assert.equal(problems('__proto__: {x: 1}\nconstructor: 1\n'), [
    'control.yaml:1:1: __proto__ is no key of the configuration.',
    'control.yaml:2:1: constructor is no key of the configuration.',
  ])
})

config('shows no password of a URL and no value under a secret name', () => {
  const text =
    'store: {url: "mysql://root:hunter2@db/x"}\nhss: {mongo_url: "http://u:p@ss@h"}\nauth: {admin_token_env: "my secret"}\n'
  const said = problems(text).join('\n')
  assert.is(problems(text).length, 3)
  assert.not.match(said, /hunter2|root|p@ss|my secret/)
})

config('carries the problems as details with JSON pointers', () => {
  try {
    load('plmn: {mnc: 5}')
    assert.unreachable()
  } catch (error) {
    assert.equal((error as { details?: unknown }).details, [
      { pointer: '/plmn/mnc', message: 'must be text, not the number 5; write it in quotes: "5"' },
    ])
  }
})

config('checks and fills in the configuration of a plugin that the service does not know', () => {
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: {
      size: {
        type: 'integer',
        minimum: 1,
        default: 4,
        'x-env': { name: 'SVC_BEACON_SIZE' },
        'x-apply': 'hot',
      },
      wait: { type: 'string', default: '5s', 'x-apply': 'reload' },
    },
  }
  const extraSchemas = [{ configPath: 'beacon', schema }]
  assert.equal(load('', { extraSchemas }).pluginConfig('beacon'), { size: 4, wait: '5s' })
  const { pluginConfig, warnings, sources } = load('beacon: {wait: 1s}', {
    extraSchemas,
    env: { SVC_BEACON_SIZE: '9' },
  })
  assert.equal(pluginConfig('beacon'), { size: 9, wait: '1s' })
  assert.equal(warnings, [])
  assert.is(sources.get('beacon.size'), 'SVC_BEACON_SIZE')
  assert.equal(problems('beacon: {sise: 1}', { extraSchemas }), [
    'control.yaml:1:10: beacon.sise is no key of the configuration. Did you mean beacon.size?',
  ])
})

config('leaves a reserved path alone until its plugin brings its schema', () => {
  const loaded = load('beacon: {size: 0, other: 1}', {
    extraSchemas: [{ configPath: 'beacon' }],
    env: { SVC_B: '3' },
  })
  const schema = (minimum: number): object => ({
    type: 'object',
    properties: {
      size: { type: 'integer', minimum, default: 1 },
      b: { type: 'integer', 'x-env': { name: 'SVC_B' } },
    },
  })
  assert.equal(loaded.pluginConfig('beacon', { ...schema(0) }), { size: 0, other: 1, b: 3 })
  assert.throws(
    () => loaded.pluginConfig('beacon', { ...schema(1) }),
    /^control\.yaml:1:16: beacon\.size must be at least 1, not 0$/,
  )
  assert.equal(problems('beacon: {size: 0}').length, 1)
})

config('gives a plugin that the service knows its part of the settings', () => {
  assert.equal(load('fairuse: {enabled: true}').pluginConfig('fairuse'), {
    enabled: true,
    usage_interval: '60s',
  })
})

config('refuses a zero duration of a plugin that brings its schema later', () => {
  const loaded = load('beacon: {wait: 0s}', { extraSchemas: [{ configPath: 'beacon' }] })
  const wait = { type: 'string', pattern: DURATION_PATTERN, default: '5s' }
  const schema = { type: 'object', properties: { wait } }
  assert.throws(
    () => loaded.pluginConfig('beacon', schema),
    /^control\.yaml:1:16: beacon\.wait must be longer than 0/,
  )
})

config('adds keys of a plugin to a group that the service knows, and takes none away', () => {
  const schema = {
    type: 'object',
    properties: { enabled: { type: 'string', default: 'x' }, extra: { type: 'integer', default: 3 } },
  }
  assert.equal(load('').pluginConfig('fairuse', schema), { enabled: false, usage_interval: '60s', extra: 3 })
})

config("leaves the variables of a plugin to the plugin's schema, which is known when it is loaded", () => {
  const env = { SVC_ACME_POWER: '3', SVC_ACME_POWR: '4', SVC_ACMEE_POWER: '5' }
  const schema = {
    type: 'object',
    properties: { power: { type: 'integer', default: 1, 'x-env': { name: 'SVC_ACME_POWER' } } },
  }
  const loaded = load('', { env, extraSchemas: [{ configPath: 'acme' }] })
  assert.equal(
    loaded.warnings.map((line) => line.split(':')[0]),
    ['SVC_ACMEE_POWER'],
  )
  assert.equal(loaded.pluginConfig('acme', schema), { power: 3 })
  assert.equal(loaded.pluginWarnings('acme', schema), [
    'SVC_ACME_POWR: no such variable; it has no effect. Did you mean SVC_ACME_POWER?',
  ])
})

config('says ok, or every problem, for svc config check', () => {
  const options = { file: 'control.yaml', env: { SVC_TACK: '1' }, surroundings: SURROUNDINGS }
  assert.equal(checkConfig({ ...options, readFile: () => 'tac: 1' }), {
    isValid: true,
    lines: ['ok', 'warning: SVC_TACK: no such variable; it has no effect. Did you mean SVC_TAC?'],
  })
  const refused = checkConfig({ ...options, readFile: () => 'tac: no\ncore: x' })
  assert.is(refused.isValid, false)
  assert.is(refused.lines.length, 2)
})

config.run()
