import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { findDaemons } from '../../src/adopt/find-daemons.ts'
import { readCore, withKeys } from '../../src/adopt/found-core.ts'
import type { FoundDaemon } from '../../src/adopt/programs.ts'

const test = suite('southbound/adopt/found')
const never = new AbortController().signal
const ID = 'a'.repeat(64)

/** A process as /proc shows it. */
interface FakeProcess {
  readonly argv: readonly string[]
  readonly groups?: string
  readonly cwd?: string
  readonly maps?: string
}

async function procOf(dir: string, processes: Readonly<Record<number, FakeProcess>>): Promise<string> {
  for (const [pid, { argv, groups = '0::/init.scope\n', cwd, maps = '' }] of Object.entries(processes)) {
    await mkdir(join(dir, pid), { recursive: true })
    await writeFile(join(dir, pid, 'cmdline'), `${argv.join('\0')}\0`)
    await writeFile(join(dir, pid, 'cgroup'), groups)
    await writeFile(join(dir, pid, 'maps'), maps)
    if (cwd !== undefined) await symlink(cwd, join(dir, pid, 'cwd'))
  }
  await mkdir(join(dir, 'sys'), { recursive: true })
  return dir
}

/** A container engine that only lists, inspects and tells what runs; anything else fails the test. */
async function engineWith(socket: string, containers: readonly object[], top: object) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request
    asked.push(`${method} ${url.split('?')[0]}`)
    const body = url.startsWith('/containers/json')
      ? containers.map((one) => ({ Id: (one as { Id: string }).Id }))
      : url.includes('/top')
        ? top
        : containers.find((one) => url.includes((one as { Id: string }).Id))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(socket)
  await new Promise((resolve) => server.once('listening', resolve))
  return { asked, close: () => server.close() }
}

test('finds units, containers and bare processes, each once, and what runs them', async () => {
  await using dir = await tempDir()
  const proc = await procOf(join(dir.path, 'proc'), {
    101: {
      argv: ['/usr/bin/open5gs-mmed', '-c', '/etc/open5gs/mme.yaml'],
      groups: '0::/system.slice/open5gs-mmed.service\n',
      maps: '7f00-7f01 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/libogscore.so.2.8.0\n',
    },
    102: { argv: ['./install/bin/open5gs-smfd', '-c', 'smf.yaml'], cwd: '/root/net' },
    103: {
      argv: ['./upf', '-c', './config/upfcfg.yaml'],
      cwd: '/free5gc',
      groups: `0::/system.slice/docker-${ID}.scope\n`,
    },
    104: { argv: ['/bin/sh', '-c', 'open5gs-hssd'] },
    105: { argv: ['/usr/sbin/smf'] },
  })
  const packages = join(dir.path, 'status')
  await writeFile(
    packages,
    'Package: open5gs-hss\nStatus: install ok installed\nVersion: 2.7.2~jammy\n\nPackage: vim\nVersion: 9\n',
  )
  const socket = join(dir.path, 'engine.sock')
  const engine = await engineWith(
    socket,
    [
      {
        Id: ID,
        Name: '/upf',
        Path: 'bash',
        Args: ['-c', './upf-iptables.sh && ./upf -c ./config/upfcfg.yaml'],
        State: { Running: true, Pid: 90 },
        Config: { Image: 'free5gc/upf:v4.2.3', WorkingDir: '/free5gc', Labels: null },
        Mounts: [{ Source: '/srv/f5/config/upfcfg.yaml', Destination: '/free5gc/config/upfcfg.yaml' }],
      },
    ],
    { Titles: ['PID', 'CMD'], Processes: [['103', './upf -c ./config/upfcfg.yaml']] },
  )
  try {
    const { daemons, unseen } = await findDaemons(
      {
        proc,
        packages,
        engineSocket: socket,
        units: async () => [
          {
            core: 'core_a',
            role: 'mme',
            configFile: '/etc/open5gs/mme.yaml',
            unit: 'open5gs-mmed.service',
            pid: 101,
          },
          {
            core: 'core_a',
            role: 'hss',
            configFile: '/etc/open5gs/hss.yaml',
            unit: 'open5gs-hssd.service',
            pid: undefined,
          },
        ],
      },
      never,
    )
    assert.equal(unseen, [])
    assert.equal(
      daemons.map(({ role, runner, isRunning, path, version }) => [
        role,
        runner.kind,
        runner.name,
        isRunning,
        path,
        version,
      ]),
      [
        ['mme', 'unit', 'open5gs-mmed.service', true, '/etc/open5gs/mme.yaml', '2.8.0'],
        ['upf', 'container', 'upf', true, '/srv/f5/config/upfcfg.yaml', 'v4.2.3'],
        ['smf', 'process', '102', true, '/root/net/smf.yaml', undefined],
        ['hss', 'unit', 'open5gs-hssd.service', false, '/etc/open5gs/hss.yaml', '2.7.2~jammy'],
      ],
    )
    assert.match(daemons[1]?.problem ?? '', /only the file .* is mounted/)
    assert.match(daemons[2]?.problem ?? '', /without systemd and without a container/)
    assert.ok(
      engine.asked.every((one) => one.startsWith('GET ')),
      engine.asked.join(),
    )
  } finally {
    engine.close()
  }
})

test('says what it could not look at', async () => {
  await using dir = await tempDir()
  const { daemons, unseen } = await findDaemons(
    { proc: join(dir.path, 'none'), engineSocket: join(dir.path, 'none.sock'), units: async () => [] },
    never,
  )
  assert.equal(daemons, [])
  assert.match(
    unseen.join(),
    /containers were not looked at: the engine's socket is missing; see hss\.engine_socket/,
  )
})

/** Files in a folder, and a unit for each. */
async function unitsWith(
  dir: string,
  files: Readonly<Record<string, string>>,
): Promise<readonly FoundDaemon[]> {
  const daemons: FoundDaemon[] = []
  for (const [name, content] of Object.entries(files)) {
    const path = join(dir, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
    const role = name.replace(/(?:cfg)?\.yaml$/, '')
    const core = name.endsWith('cfg.yaml') ? 'core_b' : 'core_a'
    const runner = { kind: 'unit', name: `${role}.service` } as const
    daemons.push({ core, role, runner, isRunning: true, pid: 1, configFile: path, path, version: undefined })
  }
  return daemons
}

test('reads what Open5GS says, and the settings that say the same', async () => {
  await using dir = await tempDir()
  const log = join(dir.path, 'log')
  await mkdir(log)
  for (const role of ['mme', 'amf', 'smf', 'sgwu', 'hss']) await writeFile(join(log, `${role}.log`), '')
  const logger = (role: string): string => `logger:\n  file:\n    path: ${log}/${role}.log\n`
  const daemons = await unitsWith(join(dir.path, 'etc'), {
    'mme.yaml': `${logger('mme')}mme:\n  s1ap:\n    server:\n      - address: 10.0.0.2\n  metrics:\n    server:\n      - address: 127.0.0.2\n        port: 9090\n  gummei:\n    - plmn_id:\n        mcc: 001\n        mnc: 01\n      mme_gid: 2\n  tai:\n    - plmn_id: {mcc: 001, mnc: 01}\n      tac: [7, 9-12]\n`,
    'amf.yaml': `${logger('amf')}amf:\n  sbi:\n    server:\n      - address: 127.0.0.5\n        port: 7777\n  metrics:\n    server:\n      - address: 127.0.0.5\n  plmn_support:\n    - plmn_id: {mcc: 001, mnc: 01}\n      s_nssai:\n        - sst: 1\n        - sst: 2\n          sd: 000080\n`,
    'smf.yaml': `${logger('smf')}smf:\n  pfcp:\n    server:\n      - address: 127.0.0.4\n  metrics:\n    server:\n      - address: 127.0.0.4\n        port: 9190\n  session:\n    - subnet: 10.46.0.0/16\n      dnn: internet\n    - subnet: 2001:db8::/48\n      dnn: corp\n  dns:\n    - 9.9.9.9\n    - 2620:fe::fe\n`,
    'sgwu.yaml': `${logger('sgwu')}sgwu:\n  pfcp:\n    server:\n      - address: 127.0.0.6\n  gtpu:\n    server:\n      - address: 10.0.0.2\n`,
    'hss.yaml': `${logger('hss')}db_uri: mongodb://u:secretpw@db/open5gs\nhss:\n  metrics:\n    server:\n      - address: 127.0.0.8\n`,
  })
  const { network, settings, problems } = await readCore('core_a', daemons)
  assert.equal(problems, [])
  assert.equal(network.plmn, { mcc: '001', mnc: '01' })
  assert.equal(
    [network.tacs, network.apns],
    [
      ['7', '9-12'],
      ['internet', 'corp'],
    ],
  )
  assert.equal(settings, {
    core: 'core_a',
    'plmn.mcc': '001',
    'plmn.mnc': '01',
    tac: 7,
    'core_a.subnet': '10.46.0.0/16',
    'core_a.slices': [{ sst: 1 }, { sst: 2, sd: '000080' }],
    'core_a.addresses': {
      mme: '10.0.0.2',
      amf: '127.0.0.5',
      smf: '127.0.0.4',
      sgwu: '127.0.0.6',
      hss: '127.0.0.8',
      s1u: '10.0.0.2',
      dns: '9.9.9.9',
      mongo: 'db',
    },
    'core_a.mme_url': 'http://127.0.0.2:9090',
    'core_a.smf_url': 'http://127.0.0.4:9190',
    'core_a.config_dir': join(dir.path, 'etc'),
    'core_a.config_mount': join(dir.path, 'etc'),
    'core_a.units': {
      mme: 'mme.service',
      amf: 'amf.service',
      smf: 'smf.service',
      sgwu: 'sgwu.service',
      hss: 'hss.service',
    },
    'core_a.log_dir': log,
  })
  assert.match(network.notes.join('\n'), /several tracking areas \(7, 9-12\)/)
  assert.match(network.notes.join('\n'), /several pools of addresses/)
  assert.match(network.notes.join('\n'), /use_mongodb_change_stream is off/)
  assert.match(network.notes.join('\n'), /asks for a password: name it in hss\.mongo_url/)
  assert.not.match(JSON.stringify([network, settings]), /secretpw/)
  const text = withKeys('# mine\ncore_a: # a group without keys\nserver: {mode: lab}\n', settings)
  assert.match(text, /^# mine\n/)
  assert.match(text, /mcc: "001"/)
})

test('reads the name of a network only where one key says all that the files say', async () => {
  await using dir = await tempDir()
  const nameOf = async (files: Readonly<Record<string, string>>): Promise<unknown> => {
    const sections = Object.entries(files).map(([role, names]) => [
      `${role}.yaml`,
      `${role}:\n  network_name: {${names}}\n`,
    ])
    const { settings } = await readCore('core_a', await unitsWith(dir.path, Object.fromEntries(sections)))
    return settings['core_a.network_name']
  }
  assert.is(await nameOf({ mme: 'full: Harbour, short: Harbour' }), 'Harbour')
  assert.is(await nameOf({ mme: 'full: Harbour', amf: 'full: Harbour, short: Harbour' }), 'Harbour')
  assert.is(await nameOf({ mme: 'full: Open5GS, short: Next' }), undefined, 'as its package has it')
  assert.is(await nameOf({ mme: 'full: Harbour', amf: 'full: Quay' }), undefined)
  assert.is(await nameOf({ mme: 'short: Harbour', amf: 'full: Harbour' }), undefined)
})

test('names the database that the daemons read, where this machine reaches it as they do', async () => {
  await using dir = await tempDir()
  const databaseOf = async (uri: string, kind: 'unit' | 'container') => {
    const daemons = await unitsWith(dir.path, {
      'pcrf.yaml': `db_uri: ${uri}\npcrf:\n  metrics:\n    server:\n      - address: 127.0.0.9\n`,
    })
    const all = daemons.map((one) => ({ ...one, runner: { kind, name: 'pcrf' } }))
    const { settings } = await readCore('core_a', all)
    return [settings['hss.mongo_url'], (settings['core_a.addresses'] as { mongo?: string }).mongo]
  }
  const stock = 'mongodb://localhost/open5gs'
  assert.equal(await databaseOf(stock, 'unit'), [stock, 'localhost'])
  assert.equal(await databaseOf(stock, 'container'), [stock, 'localhost'])
  assert.equal(await databaseOf('mongodb://db.example/core', 'unit'), [
    'mongodb://db.example/core',
    'db.example',
  ])
  // A name that containers give to one another.
  assert.equal(await databaseOf('mongodb://mongo/open5gs', 'container'), [undefined, 'mongo'])
  assert.equal(await databaseOf('mongodb://10.0.0.7:27018/open5gs', 'container'), [
    'mongodb://10.0.0.7:27018/open5gs',
    undefined,
  ])
})

test('reads what free5GC says, and the settings that say the same', async () => {
  await using dir = await tempDir()
  const sbi = (host: string, more = ''): string =>
    `  sbi:\n    registerIPv4: ${host}\n    port: 8000\n${more}`
  const slice = (sd: string, indent: string): string => `${indent}sst: 1\n${indent}sd: ${sd}\n`
  const node = (sd: string, cidr: string): string =>
    `          - sNssai:\n${slice(sd, '              ')}            dnnUpfInfoList:\n              - dnn: internet\n                pools:\n                  - cidr: ${cidr}\n`
  const daemons = await unitsWith(dir.path, {
    'amfcfg.yaml': `configuration:\n  ngapIpList:\n    - 10.0.0.9\n${sbi('amf.example')}  servedGuamiList:\n    - plmnId:\n        mcc: 208\n        mnc: 93\n      amfId: cafe00\n  supportTaiList:\n    - tac: 00000a # hexadecimal\n  plmnSupportList:\n    - plmnId:\n        mcc: 208\n        mnc: 93\n      snssaiList:\n        - sst: 1\n          sd: 010203\n        - sst: 1\n          sd: 112233\n  supportDnnList:\n    - internet\n`,
    'smfcfg.yaml': `configuration:\n${sbi('smf.example')}  snssaiInfos:\n    - dnnInfos:\n        - dnn: internet\n          dns:\n            ipv4: 8.8.4.4\n  pfcp:\n    listenAddr: smf.example\n  userplaneInformation:\n    upNodes:\n      gNB1:\n        type: AN\n      UPF:\n        type: UPF\n        addr: upf.example\n        sNssaiUpfInfos:\n${node('010203', '10.60.0.0/16')}${node('112233', '10.61.0.0/16')}        interfaces:\n          - interfaceType: N3\n            endpoints:\n              - 10.0.0.8\n`,
    'nrfcfg.yaml': `configuration:\n${sbi('nrf.example', '    oauth: true\n')}  MongoDBName: free5gc\n  MongoDBUrl: mongodb://db:27017\n`,
    'udrcfg.yaml': 'configuration:\n  mongodb:\n    name: free5gc\n    url: mongodb://127.0.0.1:27017\n',
    'upfcfg.yaml': 'pfcp:\n  addr: upf.example\n',
  })
  const { settings, problems, network } = await readCore('core_b', daemons)
  assert.equal(problems, [])
  assert.equal([network.tacs, network.apns], [['10'], ['internet']])
  const { 'core_b.units': _units, 'core_b.config_dir': folder, ...rest } = settings
  assert.is(folder, dir.path)
  assert.equal(rest, {
    core: 'core_b',
    'plmn.mcc': '208',
    'plmn.mnc': '93',
    tac: 10,
    'core_b.subnet': '10.60.0.0/15',
    'core_b.slices': [
      { sst: 1, sd: '010203' },
      { sst: 1, sd: '112233' },
    ],
    'core_b.addresses': {
      amf: 'amf.example',
      smf: 'smf.example',
      nrf: 'nrf.example',
      upf: 'upf.example',
      n2: '10.0.0.9',
      n4: 'smf.example',
      n3: '10.0.0.8',
      dns: '8.8.4.4',
      mongo: '127.0.0.1:27017',
    },
    'core_b.amf_oam_url': 'http://amf.example:8000',
    'core_b.charging': false,
    'core_b.oauth': true,
    'hss.driver': 'core_b',
    'hss.mongo_url': 'mongodb://127.0.0.1:27017/free5gc',
  })
})

test('names files that it cannot use, and writes none', async () => {
  await using dir = await tempDir()
  const daemons = await unitsWith(dir.path, { 'mme.yaml': 'mme: [\n', 'smf.yaml': 'smf: {}\n' })
  const [mme, smf] = daemons
  assert.ok(mme && smf)
  const before = await readdir(dir.path)
  const { problems } = await readCore('core_a', [
    mme,
    { ...smf, path: join(dir.path, 'none/smf.yaml') },
    { ...smf, role: 'upf', path: join(dir.path, 'all.yaml') },
  ])
  assert.match(problems.join('\n'), /mme: .*mme\.yaml is no YAML/)
  assert.match(problems.join('\n'), /smf: there is no /)
  assert.match(problems.join('\n'), /several folders/)
  assert.match(problems.join('\n'), /upf reads .*all\.yaml, and the service writes .*upf\.yaml/)
  assert.equal(await readdir(dir.path), before)
})

test.run()
