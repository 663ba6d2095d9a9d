import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { KNOWN, load, problems, SECTIONS } from './load-helper.ts'

const semantics = suite('config/semantics')

/** Texts and what refuses them; `''` for those that are accepted. */
const CASES: readonly (readonly [text: string, refusal: string])[] = [
  ['plmn: {mnc: "070", mcc: "001"}', ''],
  ['plmn: {mnc: "5"}', 'plmn.mnc must be 2 or 3 digits, such as "99" or "070", not "5"'],
  ['plmn: {mcc: "99"}', 'plmn.mcc must be 3 digits, such as "999", not "99"'],
  ['tac: 65535', ''],
  ['tac: 65536', 'tac must be 1 to 65535 in LTE, and not 65534, which is reserved, not 65536'],
  ['tac: 65534', 'tac must be 1 to 65535 in LTE'],
  ['tac: 0', 'tac must be 1 to 16777215, and not 16777214, which is reserved, not 0'],
  ['tac: 0\ncore: core_b\nhss: {driver: core_b}', 'tac must be 1 to 16777215, and not 16777214'],
  [
    'tac: 65536\ncore: core_b\nhss: {driver: core_b}\nran: {binary: /bin/srsenb}',
    'tac must be 1 to 65535 in LTE',
  ],
  ['tac: 65536\nran: {program: gnb}', ''],
  ['ran: {pci: 503}', ''],
  ['ran: {pci: 504}', 'ran.pci must be at most 503 with ran.program srsenb (LTE), not 504'],
  ['ran: {pci: 1007, program: gnb}', ''],
  ['ran: {lease: 1s}', ''],
  [
    'ran: {program: external}',
    'ran.external.switch must be one of command, http, snmp and genieacs with ran.program external',
  ],
  [
    'ran: {external: {switch: {snmp: {host: poe, port_index: 7}}}}',
    'ran.external.switch.snmp must be with community_file (SNMPv2c) or with user (SNMPv3), and not with both',
  ],
  [
    'ran: {external: {switch: {command: {on: [relay], off: [/r], status: [/r]}}}}',
    'ran.external.switch.command.on[0] must be the absolute path of a program, not "relay"',
  ],
  ['ran: {program: external, external: {switch: {genieacs: {url: "http://127.0.0.1:7557", device: x}}}}', ''],
  ['ran: {lease: 900ms}', 'ran.lease must be 1s to 60s, not "900ms"'],
  ['ran: {lease: 2m}', 'ran.lease must be 1s to 60s, not "2m"'],
  ['tac: 65536\ncore: core_b\nhss: {driver: core_b}', ''],
  [
    'tac: 16777216\ncore: core_b',
    'tac must be 1 to 16777215, and not 16777214, which is reserved, not 16777216',
  ],
  ['tac: -1', 'tac must be 1 to 16777215, and not 16777214, which is reserved, not -1'],
  ['server: {listen: "8080"}', 'server.listen must be an address such as'],
  ['server: {listen: ":65536"}', 'server.listen must be an address such as'],
  ['server: {listen: "300.0.0.1:80"}', 'server.listen must be an address such as'],
  ['server: {listen: "::1:8080"}', 'server.listen must be an address such as'],
  ['server: {listen: "[::1]:8080"}', ''],
  ['server: {listen: "localhost:0"}', ''],
  ['server: {mode: rf}', 'server.country must be the country (two letters'],
  ['server: {mode: rf, country: ""}', 'server.country must be the country (two letters'],
  ['server: {mode: rf, country: DE}', ''],
  ['server: {country: Germany}', 'server.country must be two capital letters'],
  ['server: {data_dir: ""}', 'server.data_dir must not be empty'],
  ['apns: [internet, INTERNET]', 'apns names "INTERNET" twice'],
  ['apns: ["-a"]', 'apns[0] must be an APN network identifier such as'],
  ['policy: {apns: ["x.gprs"]}', 'policy.apns[0] must be an APN network identifier'],
  ['hss: {driver: core_b}', 'core must be core_b while hss.driver is core_b, not "core_a"'],
  [
    'collector: {upf: {enabled: true}}',
    'collector.upf.iface must be an interface of this machine when collector.upf.enabled is true, not ""',
  ],
  [
    'collector: {upf: {enabled: true, iface: eth9}}',
    'collector.upf.iface must be an interface of this machine when',
  ],
  ['collector: {upf: {enabled: true, iface: eth0}}', ''],
  ['collector: {upf: {iface: eth9}}', ''],
  ['collector: {interval: 5}', 'collector.interval must be text, not the number 5; write it in quotes: "5"'],
  [
    'collector: {interval: 0s}',
    'collector.interval must be a duration such as 15s, 5m or 1h30m (more than 0',
  ],
  [
    'collector: {interval: soon}',
    'collector.interval must be a duration such as 15s, 5m or 1h30m (more than 0, at most 100 years), not "soon"',
  ],
  [
    'esim: {es2: {notify_url: "http://bss.example"}}',
    'esim.es2.notify_url must be empty or a URL that begins with https://',
  ],
  ['collector: {mme_url: "http://"}', 'collector.mme_url must be empty or a URL that begins with'],
  [
    'collector: {mme_url: "ftp://x"}',
    'collector.mme_url must be empty or a URL that begins with http:// or https://',
  ],
  ['auth: {metrics_allow: ["10.0.0.0/33"]}', 'auth.metrics_allow[0] must be an address range'],
  ['auth: {metrics_allow: ["fc00::/7", "127.0.0.0/8"]}', ''],
  ['core_a: {subnet: 10.45.0.0}', 'core_a.subnet must be an address range'],
  ['core_a: {slices: [{sst: 256}]}', 'core_a.slices[0].sst must be at most 255, not 256'],
  ['core_a: {slices: [{sd: "010203"}]}', 'core_a.slices[0] needs the key sst'],
  ['core_a: {containers: {"A!": x}}', 'core_a.containers has the name "A!", which is not allowed here'],
  ['core_a: {containers: {mme: "../x"}}', 'core_a.containers.mme must be the name of a container'],
  ['core_a: {containers: {upf: "a?b=1"}}', 'core_a.containers.upf must be the name of a container'],
  ['core_a: {containers: {upf: upf_1.lab-2}}', ''],
  ['core_b: {containers: {amf: "a/b"}}', 'core_b.containers.amf must be the name of a container'],
  ['hss: {container: "../mongo"}', 'hss.container must be the name of a container'],
  ['ran: {container: "a b"}', 'ran.container must be empty or the name of a container'],
  ['core_a: {addresses: {mme: a b}}', 'core_a.addresses.mme must be an IPv4 address, not "a b"'],
  ['core_a: {addresses: {mme: core.lab}}', 'core_a.addresses.mme must be an IPv4 address'],
  ['core_a: {addresses: {s1u: "::1"}}', 'core_a.addresses.s1u must be an IPv4 address'],
  ['core_a: {addresses: {dns: one.one}}', 'core_a.addresses.dns must be an IPv4 or IPv6 address'],
  ['core_a: {addresses: {mongo: "a b"}}', 'core_a.addresses.mongo must be a host'],
  ['core_a: {addresses: {mme: 10.0.0.2, dns: "2001:db8::1", mongo: db}}', ''],
  ['core_b: {addresses: {amf: "-a"}}', 'core_b.addresses.amf must be an IPv4 address or a host name'],
  ['esim: {smdp_address: smdp.example.org}', ''],
  ['esim: {smdp_address: "10.0.0.1:8443"}', ''],
  [
    'esim: {smdp_address: "smdp.example.org:0"}',
    'esim.smdp_address must be empty or a host name or an IPv4 address',
  ],
  ['esim: {smdp_address: "https://smdp.example.org"}', 'esim.smdp_address must be empty or a host name'],
  ['esim: {smdp_address: "smdp.example.org$X"}', 'esim.smdp_address must be empty or a host name'],
  ['core_b: {addresses: {amf: 10.0.0}}', 'core_b.addresses.amf must be an IPv4 address or a host name'],
  ['core_b: {addresses: {dns: "::1"}}', 'core_b.addresses.dns must be an IPv4 address'],
  ['core_b: {addresses: {amf: amf.free5gc.org, n2: 10.0.0.2, mongo: db}}', ''],
  [
    'core_a: {config_dir: /}',
    'core_a.config_dir must be empty or the absolute path of a separate folder, not one of the system, not "/"',
  ],
  [
    'core_a: {config_dir: /etc}',
    'core_a.config_dir must be empty or the absolute path of a separate folder, not one of the system, not "/etc"',
  ],
  [
    'core_b: {config_dir: /srv/../var//}',
    'core_b.config_dir must be empty or the absolute path of a separate folder',
  ],
  [
    'core_a: {config_dir: srv/core}',
    'core_a.config_dir must be empty or the absolute path of a separate folder',
  ],
  ['core_a: {config_dir: /etc/open5gs}\ncore_b: {config_dir: /srv}', ''],
  [
    'core_a: {config_mount: etc}',
    'core_a.config_mount must be an absolute path (of config_dir as the daemons see it), not "etc"',
  ],
  ['core_b: {release: "4"}', 'core_b.release must be a release of free5GC such as 4.2.3, not "4"'],
  ['store: {url: "sqlite:/x/svc.db"}', ''],
  ['store: {url: "sqlite:/a/file/svc.db"}', 'A file lies in the way of its folder.'],
  [
    'server: {data_dir: /a/file}',
    'server.data_dir must be the path of a folder that exists or can be created',
  ],
  ['plugins: {dir: /a/file/x}', 'plugins.dir must be empty or the path of a folder'],
  [
    'store: {url: "sqlite::memory:"}',
    'store.url must be empty or sqlite:<path of a file> or postgres://<host>:<port>/<database> (a store in memory',
  ],
  ['store: {url: "postgres://svc@db:5432/svc"}', ''],
  [
    'store: {url: "postgres://svc@db"}',
    'store.url must be empty or sqlite:<path of a file> or postgres://<host>:<port>/<database>',
  ],
  [
    'tls: {enabled: true}',
    "tls.enabled needs the node's keys, and /var/lib/svc/keys has none; run svc node init",
  ],
  ['tls: {enabled: true}\nserver: {data_dir: /with/keys}', ''],
  ['tls: {enabled: true, min_version: TLSv1.2}\nserver: {data_dir: /with/keys}', ''],
  ['tls: {min_version: TLSv1.1}', 'tls.min_version must be one of TLSv1.3, TLSv1.2, not "TLSv1.1"'],
  ['tls: {enabled: true, cert_file: /a, key_file: /b}\nserver: {data_dir: /with/keys}', ''],
  [
    'tls: {enabled: true, cert_file: /a}\nserver: {data_dir: /with/keys}',
    'tls.key_file is the key of tls.cert_file: set both, or neither',
  ],
  [
    'tls: {enabled: true, key_file: /b}\nserver: {data_dir: /with/keys}',
    'tls.cert_file is the certificate of tls.key_file: set both, or neither',
  ],
  [
    'tls: {enabled: true, cert_file: /no/cert, key_file: /b}\nserver: {data_dir: /with/keys}',
    'tls.cert_file is /no/cert, which cannot be read',
  ],
  [
    'tls: {enabled: true, cert_file: /a, key_file: /no/key}\nserver: {data_dir: /with/keys}',
    'tls.key_file is /no/key, which cannot be read',
  ],
  ['server: {plain_listen: "127.0.0.1:8081"}', ''],
  ['server: {plain_listen: "[::1]:8081"}', ''],
  ['server: {plain_listen: "[0:0:0:0:0:0:0:1]:8081"}', ''],
  ['server: {plain_listen: "localhost:8081"}', ''],
  ...[
    ':8081',
    '0.0.0.0:8081',
    '[::]:8081',
    '10.0.0.1:8081',
    '[::ffff:10.0.0.1]:8081',
    'box:8081',
    '127.0.0.1',
  ].map((address): readonly [string, string] => [
    `server: {plain_listen: "${address}"}`,
    `server.plain_listen must be empty or an address of this machine alone, such as 127.0.0.1:8081, [::1]:8081 or localhost:8081, not "${address}"`,
  ]),
  [
    'ran: {profiles: {x: {technology: lte, channel: 1, bandwidth_mhz: 0}}}',
    'ran.profiles.x.bandwidth_mhz must be greater than 0',
  ],
]

const RULE = 'name: a, op: ">", threshold: 1, severity: info'

for (const [text, refusal] of CASES) {
  semantics(`${refusal === '' ? 'accepts' : 'refuses'} ${text.replaceAll('\n', ', ')}`, () => {
    const lines = problems(text)
    assert.is(lines.length, refusal === '' ? 0 : 1, lines.join('\n'))
    assert.ok((lines[0] ?? '').includes(refusal), `${lines[0]}\ndoes not say\n${refusal}`)
  })
}

semantics('lets alert rules watch every metric that is declared, for zero seconds too', () => {
  const watches = (metric: string, time = '0s'): string =>
    `alerts: {rules: [{metric: ${metric}, for: ${time}, ${RULE}}]}`
  const declared = [
    'svc_sim_state',
    'svc_http_request_duration_seconds',
    ...SECTIONS.flatMap(({ metrics }) => metrics),
  ]
  assert.ok(declared.length > 15)
  for (const metric of declared) assert.equal(problems(watches(metric)), [], metric)
  assert.equal(problems(watches('svc_sim_stat', '5m')), [
    'control.yaml:1:27: alerts.rules[0].metric must be a metric that the service or a plugin declares, not "svc_sim_stat". Did you mean svc_sim_state?',
  ])
  const two = `alerts: {rules: [{metric: svc_sim_state, for: 1s, ${RULE}}, {metric: svc_sim_state, for: 1s, ${RULE}}]}`
  assert.match(problems(two)[0] ?? '', /alerts\.rules names "a" twice \(name\)/)
})

semantics('lets webhooks be without a name, and not two have the same one', () => {
  const problemsOf = (...webhooks: readonly string[]): readonly string[] =>
    problems(`alerts: {webhooks: [${webhooks.map((one) => `{secret_file: /x, ${one}}`).join(', ')}]}`)
  const [a, b] = ['url: "https://a.example/"', 'url: "https://b.example/"']
  assert.equal(problemsOf(a, b), [])
  assert.equal(problemsOf(`name: a, ${a}`, b, `name: b, ${b}`), [])
  assert.match(
    problemsOf(a, `name: ops, ${a}`, `name: ops, ${b}`)[0] ?? '',
    /names "ops" twice \(name, or the host of url\)/,
  )
  assert.match(problemsOf('url: "ftp://a.example/"')[0] ?? '', /must be an https:\/\/ \(or http:\/\/\) URL/)
})

semantics('knows webhooks without a name by their host, as they are called', () => {
  const problemsOf = (...webhooks: readonly string[]): readonly string[] =>
    problems(`alerts: {webhooks: [${webhooks.map((one) => `{secret_file: /x, ${one}}`).join(', ')}]}`)
  const [a, b] = ['url: "https://example.org:1/a"', 'url: "https://Example.org/b"']
  assert.match(problemsOf(a, b)[0] ?? '', /names "example\.org" twice \(name, or the host of url\)/)
  assert.match(
    problemsOf(a, 'name: example.org, url: "https://example.com"')[0] ?? '',
    /"example\.org" twice/,
  )
  assert.equal(problemsOf(a, `name: ops, ${b}`), [])
})

semantics('refuses a webhook at an address that is never connected to, however it is written', () => {
  const problemsOf = (url: string): readonly string[] =>
    problems(`alerts: {webhooks: [{secret_file: /x, url: "${url}", allow_private: true}]}`)
  const never = [
    '169.254.169.254',
    '0xa9fea9fe',
    '[fe80::1]',
    '[::ffff:169.254.169.254]',
    '0.0.0.0',
    '224.0.0.1',
  ]
  for (const host of never)
    assert.match(
      problemsOf(`https://${host}/x`)[0] ?? '',
      /not link-local, reserved or of a metadata service/,
      host,
    )
  for (const host of ['127.0.0.1', '[fd00::1]', '192.0.2.1', 'example.org'])
    assert.equal(problemsOf(`https://${host}/x`), [], host)
})

semantics('says of what is no text that alone, and not that it comes twice', () => {
  assert.equal(problems('apns: [{}, {}]'), [
    'control.yaml:1:8: apns[0] must be text, not a map',
    'control.yaml:1:12: apns[1] must be text, not a map',
  ])
})

semantics('points at the key that was set when the wrong one is a default', () => {
  assert.equal(problems('server:\n  mode: rf\n'), [
    'control.yaml:2:9: server.country must be the country (two letters, ISO 3166-1) when server.mode is rf, not "LAB"',
  ])
  const [line] = problems('', { env: { SVC_SERVER_MODE: 'rf' } })
  assert.ok(line?.startsWith('SVC_SERVER_MODE: server.country '))
})

semantics('warns of what works and is hardly meant', () => {
  const [warning, ...others] = load('core: core_b').warnings
  assert.is(
    warning,
    'control.yaml:1:7: hss.driver must be core_b or none while core is core_b (the others write to the HSS of core_a), not "docdb_shell"',
  )
  assert.equal(others, [])
  assert.is(load('core: core_b\nhss: {driver: core_b}').warnings.length, 0)
})

semantics('warns of where another core has its files and answers, and says which core is chosen', () => {
  const unused = (chosen: string, key: string, value: string): string =>
    `${key} must be empty while core is ${chosen} (only ${key.slice(0, 6)} uses it), not "${value}"`
  assert.equal(load('core_b: {cdr_dir: /srv/cdr, smf_oam_url: "http://smf:8000"}').warnings, [
    `control.yaml:1:19: ${unused('core_a', 'core_b.cdr_dir', '/srv/cdr')}`,
    `control.yaml:1:42: ${unused('core_a', 'core_b.smf_oam_url', 'http://smf:8000')}`,
  ])
  const other = 'core: core_b\nhss: {driver: core_b}\ncore_a: {log_dir: /var/log/open5gs}'
  assert.equal(load(other).warnings, [
    `control.yaml:3:19: ${unused('core_b', 'core_a.log_dir', '/var/log/open5gs')}`,
  ])
  assert.equal(
    load(other.replaceAll('core_b', 'core_a').replace('driver: core_a', 'driver: none')).warnings,
    [],
  )
})

/** A build without eSIM. */
const WITHOUT_ESIM: typeof KNOWN = KNOWN.map((section) =>
  ['alerts', 'esim-smdp', 'fair-use', 'mesh'].includes(section.plugin)
    ? { ...section, origin: 'known' }
    : section,
)

semantics('refuses what is switched on in a build that lacks it, and says what is missing', () => {
  const cases = [
    ['fairuse: {enabled: true}', 'fairuse.enabled is true, and this build has no fair-use'],
    ['esim: {enabled: true}', 'esim.enabled is true, and this build has no esim-smdp'],
  ] as const
  for (const [text, refusal] of cases) {
    const lines = problems(text, { sections: WITHOUT_ESIM })
    assert.is(lines.length, 1, lines.join('\n'))
    assert.ok(lines[0]?.includes(`: ${refusal}; leave it out, or install`), lines[0])
    assert.equal(problems(text.replace('true', 'false'), { sections: WITHOUT_ESIM }), [])
    assert.equal(problems(text), [], 'with the plugin it is accepted')
  }
  const { warnings } = load(
    'esim: {smdp_address: dp.example}\npeering: {enabled: true}\nalerts: {enabled: true}',
    {
      sections: WITHOUT_ESIM,
    },
  )
  assert.equal(warnings, [
    'control.yaml:3:19: alerts.enabled is set, and this build has no alerts: it has no effect',
    'control.yaml:1:22: esim.smdp_address is set, and this build has no esim-smdp: it has no effect',
    'control.yaml:2:20: peering.enabled is set, and this build has no mesh: it has no effect',
  ])
  assert.match(
    problems('esim: {single_use: soon}', { sections: WITHOUT_ESIM })[0] ?? '',
    /must be true or false/,
  )
})

semantics.run()
