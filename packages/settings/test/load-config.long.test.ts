import { execFileSync } from 'node:child_process'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { DEFAULT_CONFIG_FILE } from '../src/config-sources.ts'
import { valueAt } from '../src/config-tree.ts'
import { checkConfig, loadConfig } from '../src/load-config.ts'
import type { Section } from '../src/section.ts'
import { createSchemaCompiler } from '../src/validate.ts'
import { load, problems, SECTIONS, SURROUNDINGS, sectionOf } from './load-helper.ts'

const config = suite('config/load-config')

const absent = (): string => {
  throw Object.assign(new Error('absent'), { code: 'ENOENT' })
}

config('gives the defaults of the specification when nothing is set', () => {
  const { settings, warnings, sources } = loadConfig({
    env: {},
    readFile: absent,
    surroundings: SURROUNDINGS,
    sections: SECTIONS,
  })
  assert.is(settings.server.listen, ':8080')
  assert.is(settings.server.data_dir, '/var/lib/svc')
  assert.equal(settings.plmn, { mcc: '999', mnc: '99' })
  assert.is(settings.tac, 7)
  const { license_keys: _, ...policy } = settings.policy
  assert.equal(policy, { local_breakout: true, max_ues: 128, apns: ['internet', 'ims'] })
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

config('takes a folder of the file from where the file lies, whoever reads it from where', () => {
  const text = 'server:\n  data_dir: data\nplugins:\n  dir: ../more\n'
  const readFile = (): string => text
  const { settings } = loadConfig({ file: '/boxes/one/control.yaml', env: {}, readFile })
  assert.equal([settings.server.data_dir, settings.plugins.dir], ['/boxes/one/data', '/boxes/more'])
  const env = { SVC_SERVER_DATADIR: 'elsewhere' }
  assert.is(
    loadConfig({ file: '/boxes/one/control.yaml', env, readFile }).settings.server.data_dir,
    'elsewhere',
  )
})

config('reads JSON, comments, empty groups and an empty file', () => {
  assert.is(load('{"tac": 9}').settings.tac, 9)
  assert.is(load('# nothing\n').settings.tac, 7)
  assert.is(load('').settings.tac, 7)
  const { settings } = load('server:\nesim:\n', {
    env: { SVC_ESIM_ENABLED: 'yes', SVC_ESIM_SMDP_ADDRESS: 'a.example' },
  })
  assert.is(settings.server.listen, ':8080')
  assert.is(valueAt(settings, ['esim', 'enabled']), true)
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
    'control.yaml:9:18: apns[1] must be an APN network identifier such as internet or ims.example (TS 23.003 §9.1: labels of letters, digits and inner hyphens, at most 62 characters; no rac, lac, sgsn, rnc at the beginning, no .gprs at the end), not "a b"',
    'control.yaml:10:19: policy.max_ues must be at least 1, not 0',
    'control.yaml:11:6: hss must be a map of keys and values, not 5',
    'control.yaml:12:6: core has no value; it must be one of core_a, core_b',
  ])
})

config('names the variable or the flag that is wrong', () => {
  const env = { SVC_TAC: 'abc', SVC_PEERING_DISABLED: 'maybe', SVC_AUTH_METRICS_ALLOW: '10.0.0.0/8, x' }
  assert.equal(problems('', { env, flags: { '--log-level': 'verbose' } }), [
    '--log-level: server.log_level must be one of info, debug, warn, error, not "verbose"',
    'SVC_AUTH_METRICS_ALLOW: auth.metrics_allow[1] must be an address range such as 10.0.0.0/8 or fc00::/7, not "x"',
    'SVC_PEERING_DISABLED: peering.enabled must be true, false, 1, 0, yes or no, not "maybe"',
    'SVC_TAC: tac must be a whole number, not "abc"',
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

const BEACON = {
  properties: {
    beacon: {
      required: ['url'],
      properties: {
        url: { type: 'string', format: 'url', minLength: 1, description: 'Where the beacon is.' },
        size: {
          type: 'integer',
          minimum: 1,
          default: 4,
          'x-env': { name: 'SVC_BEACON_SIZE' },
          'x-apply': 'hot',
        },
      },
    },
  },
}

config('checks and fills in the keys of a plugin', () => {
  const sections = [...SECTIONS, sectionOf('beacon', BEACON, 'build')]
  const { settings, warnings, sources } = load('beacon: {url: "http://b"}', {
    sections,
    env: { SVC_BEACON_SIZE: '9' },
  })
  assert.equal(valueAt(settings, ['beacon']), { url: 'http://b', size: 9 })
  assert.equal(warnings, [])
  assert.is(sources.get('beacon.size'), 'SVC_BEACON_SIZE')
  assert.equal(problems('beacon: {url: "http://b", sise: 1}', { sections }), [
    'control.yaml:1:27: beacon.sise is no key of the configuration. Did you mean beacon.size?',
  ])
})

config('asks for a required key also where the whole section is absent', () => {
  const sections = [...SECTIONS, sectionOf('beacon', BEACON, 'build')]
  assert.equal(problems('tac: 9', { sections }), ['beacon needs the key url (Where the beacon is)'])
  assert.equal(problems('beacon:\n', { sections }), [
    'control.yaml:1:1: beacon needs the key url (Where the beacon is)',
  ])
})

config('holds the default of an installed plugin to its schema', () => {
  const other = sectionOf('other', {
    properties: { other: { properties: { a: { type: 'integer', maximum: 3, default: 4 } } } },
  })
  const { problemsOf } = load('tac: 9', { sections: [...SECTIONS, other] })
  assert.is(problemsOf('other').length, 1)
  assert.is(problemsOf('other')[0]?.key, 'other.a')
})

config('holds what is wrong with an installed plugin against that plugin alone', () => {
  const other = sectionOf('other', {
    properties: { other: { properties: { a: { type: 'integer', default: 1 } } } },
  })
  const relation = {
    if: { properties: { beacon: { properties: { size: { const: 5 } } } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { tac: { const: 5, 'x-allowed': '5 while beacon.size is 5' } } },
  }
  const sections = [...SECTIONS, sectionOf('beacon', { ...BEACON, allOf: [relation] }), other]
  const loaded = load('beacon: {size: 5}\nother: {a: x}', { sections })
  assert.is(loaded.settings.tac, 7)
  assert.equal(
    loaded.problemsOf('beacon').map(({ key, message, isMissing }) => [key, message, isMissing === true]),
    [
      ['tac', 'must be 5 while beacon.size is 5, not 7', false],
      ['beacon', 'needs the key url (Where the beacon is)', true],
    ],
  )
  assert.equal(
    loaded.problemsOf('other').map(({ place, message }) => `${place} ${message}`),
    ['control.yaml:2:12 must be a whole number, not "x"'],
  )
  const text = 'beacon: {size: 5}\nother: {a: x}'
  const report = checkConfig({
    file: 'c',
    readFile: () => text,
    env: {},
    surroundings: SURROUNDINGS,
    sections,
  })
  assert.is(report.isValid, false)
  assert.equal(report.lines, [
    'c:1:16: tac must be 5 while beacon.size is 5, not 7',
    'c:1:1: beacon needs the key url (Where the beacon is)',
    'c:2:12: other.a must be a whole number, not "x"',
  ])
})

config('warns of the section of a plugin that is not there, and takes it when the plugin comes', () => {
  const loaded = load('beacon: {url: "http://b"}\ntac: 9', { env: { SVC_BEACON_SIZE: '2' } })
  assert.equal(loaded.warnings, [
    'SVC_BEACON_SIZE: no such variable; it has no effect.',
    'control.yaml:1:1: beacon is a section of no plugin of this build and of none that is installed; it has no effect',
  ])
  assert.is(valueAt(loaded.settings, ['beacon']), undefined)
  const then = loaded.withSections([...SECTIONS, sectionOf('beacon', BEACON)])
  assert.equal(valueAt(then.settings, ['beacon']), { url: 'http://b', size: 2 })
  assert.equal(then.warnings, [])
  assert.match(
    problems('polisy: {max_ues: 3}')[0] ?? '',
    /polisy is no key of the configuration\. Did you mean policy/,
  )
})

config('warns of keys of which this build knows no more than the name, beside those that it has', () => {
  const absent = (plugin: string, keys: readonly string[]): Section => {
    const { schema: _, ...rest } = sectionOf(plugin, {}, 'known')
    return { ...rest, schema: undefined, keys }
  }
  const here = SECTIONS.filter(({ plugin }) => plugin !== 'driver-core-a' && plugin !== 'driver-hss')
  const sections = [
    ...here,
    absent('driver-core-a', ['core_a.config_dir', 'core_a.containers']),
    absent('driver-hss', ['hss.driver', 'hss.mongo_url']),
  ]
  const text = 'core_a: {containers: {mme: epc}}\nhss:\n  driver: none\n  mongo_url: mongodb://a\ntac: 9'
  const loaded = load(text, { sections })
  assert.equal(loaded.warnings, [
    'control.yaml:1:10: core_a.containers is set, and this build has no driver-core-a: it has no effect',
    'control.yaml:4:3: hss.mongo_url is set, and this build has no driver-hss: it has no effect',
  ])
  assert.equal([loaded.settings.tac, loaded.settings.hss.driver], [9, 'none'])
  assert.is(valueAt(loaded.settings, ['core_a']), undefined)
  // What nobody knows is refused as ever, and what is here is judged.
  assert.match(
    problems('core_a: {contaners: {}}', { sections })[0] ?? '',
    /^control.yaml:1:1: core_a is no key/,
  )
  assert.match(problems('hss: {driver: 5}', { sections })[0] ?? '', /hss\.driver/)
})

config('lets no plugin take a key of another', () => {
  const thief = sectionOf('a-thief', {
    properties: { tac: { type: 'string', default: 'mine', 'x-apply': 'hot' } },
  })
  assert.is(load('', { sections: [thief, ...SECTIONS] }).settings.tac, 7)
})

config('takes the keys of the highest version of a plugin, and those of a lower one with them', () => {
  const of = (version: string, name: string, fallback: number): Section => ({
    ...sectionOf('beacon', {
      properties: {
        beacon: { properties: { [name]: { type: 'integer' }, both: { type: 'integer', default: fallback } } },
      },
    }),
    version,
  })
  const sections = [of('1.9.0', 'old', 1), of('1.10.0', 'new', 2)]
  const { settings } = load('beacon: {old: 1, new: 1}', { sections })
  assert.equal(valueAt(settings, ['beacon']), { old: 1, new: 1, both: 2 })
})

config('says ok, or every problem, for svc config check', () => {
  const options = {
    file: 'control.yaml',
    env: { SVC_TACK: '1' },
    surroundings: SURROUNDINGS,
    sections: SECTIONS,
  }
  assert.equal(checkConfig({ ...options, readFile: () => 'tac: 1' }), {
    isValid: true,
    lines: ['ok', 'warning: SVC_TACK: no such variable; it has no effect. Did you mean SVC_TAC?'],
    network: { plmn: { mcc: '999', mnc: '99' }, tac: 1 },
  })
  const refused = checkConfig({ ...options, readFile: () => 'tac: no\ncore: x' })
  assert.is(refused.isValid, false)
  assert.is(refused.lines.length, 2)
})

config('reads no pipe, no device and no file that is far too large', async () => {
  await using dir = await tempDir()
  const pipe = join(dir.path, 'pipe')
  execFileSync('mkfifo', [pipe])
  const large = join(dir.path, 'large')
  await writeFile(large, '')
  await truncate(large, 200_000_000)
  for (const [file, reason] of [
    [pipe, 'is a pipe or a device; name a regular file'],
    ['/dev/zero', 'is a pipe or a device; name a regular file'],
    [dir.path, 'cannot be read (EISDIR)'],
    [large, 'is larger than 4194304 bytes'],
  ] as const) {
    const { isValid, lines } = checkConfig({ file, env: {}, surroundings: SURROUNDINGS })
    assert.equal([isValid, lines], [false, [`${file}: ${reason}`]])
  }
})

config('says of a file that is nested too deeply just that, once, with its place', () => {
  for (const text of ['['.repeat(5_000), `a: ${'{a: '.repeat(3_000)}`, `${'- '.repeat(20_000)}x`]) {
    const { lines } = checkConfig({ file: 'f', readFile: () => text, env: {}, surroundings: SURROUNDINGS })
    assert.is(lines.length, 1)
    assert.match(
      lines[0] ?? '',
      /^f(:\d+:\d+)?: is not YAML that can be read: it is nested too deeply, at most 32/,
    )
  }
})

config('judges each file, and the keys and metrics of whoever is there, by a check that it keeps', () => {
  const keeping = createSchemaCompiler()
  const beacon = {
    type: 'object',
    properties: { beacon: { type: 'object', properties: { watts: { type: 'integer' } } } },
  }
  const rule =
    'alerts: {rules: [{name: a, metric: svc_beacon_on, op: ">", threshold: 1, for: 1m, severity: info}]}'
  const judge = (text: string, more: readonly Section[] = []): readonly string[] =>
    problems(text, { sections: [...SECTIONS, ...more], compile: keeping })
  const whole = { ...sectionOf('beacon', beacon, 'build'), metrics: ['svc_beacon_on'] }
  for (let round = 0; round < 2; round++) {
    assert.equal(judge('tac: 7'), [])
    assert.match(judge('tac: x').join(), /tac must be/)
    assert.match(judge(rule).join(), /svc_beacon_on/)
    assert.equal(judge(`beacon: {watts: 2}\n${rule}`, [whole]), [])
    assert.match(judge('beacon: {watts: a}', [whole]).join(), /beacon.watts must be/)
  }
})

config('fills in what stands deeper in a default', () => {
  const place = { type: 'object', properties: { port: { type: 'integer', default: 80 } } }
  const schema = {
    properties: {
      listed: { type: 'array', items: place, default: [{ host: 'a' }, { port: 7 }] },
      named: { type: 'object', properties: { first: { ...place, default: {} } }, default: {} },
      plain: {
        type: 'array',
        items: { type: 'object', properties: { sst: { type: 'integer' } } },
        default: [{ sst: 1 }],
      },
    },
  }
  const { settings } = load('', { sections: [sectionOf('deep', { properties: { deep: schema } }, 'build')] })
  assert.equal(Reflect.get(settings, 'deep'), {
    listed: [{ host: 'a', port: 80 }, { port: 7 }],
    named: { first: { port: 80 } },
    plain: [{ sst: 1 }],
  })
})

config.run()
