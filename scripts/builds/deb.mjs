// A Debian package of a build: its files below /usr/lib/steeple, a hardened unit, a configuration that is the operator's.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from '../workspace.mjs'
import { configFor } from './config.mjs'
import { filesBelow, put, settle } from './files.mjs'

const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }
const SCRIPTS = ['postinst', 'prerm', 'postrm']
const CONFIG = 'etc/svc/control.yaml'
const UNIT = 'usr/lib/systemd/system/steeple.service'
const WHOLE_BOX = 'usr/share/steeple/whole-box'
const RULES = 'usr/share/polkit-1/rules.d/60-steeple.rules'
/** Programs that parts run where they are configured. */
const HELPERS = {
  'collector-gtpu': ['nftables', 'util-linux'],
  'driver-ran': ['util-linux'],
  mesh: ['wireguard-tools'],
}

/** Writes the package into `out`; gives its file. `work` is an empty folder. */
export function makeDeb({ from, out, work, build, level }) {
  const tree = join(work, 'tree')
  const packaging = join(root, 'packaging')
  mkdirSync(join(tree, 'usr/lib'), { recursive: true })
  cpSync(from, join(tree, 'usr/lib/steeple'), { recursive: true, preserveTimestamps: true })
  mkdirSync(join(tree, 'usr/bin'), { recursive: true })
  symlinkSync('../lib/steeple/bin/svc', join(tree, 'usr/bin/svc'))
  put(tree, UNIT, readFileSync(join(packaging, 'steeple.service')))
  put(tree, RULES, readFileSync(join(packaging, '60-steeple.rules')))
  put(tree, CONFIG, configFor('packaging/control.yaml', build))
  cpSync(join(packaging, 'whole-box'), join(tree, WHOLE_BOX), { recursive: true })
  put(tree, 'usr/share/doc/steeple/copyright', readFileSync(join(root, 'LICENSE')))
  const documents = '../../../lib/steeple/share/doc'
  for (const path of ['configuration.md', 'html', 'html/packages.md'])
    symlinkSync(`${documents}/${path}`, join(tree, 'usr/share/doc/steeple', basename(path)))
  put(tree, 'DEBIAN/control', controlOf(build, tree))
  put(tree, 'DEBIAN/conffiles', `/${CONFIG}\n`)
  for (const name of SCRIPTS)
    put(tree, `DEBIAN/${name}`, readFileSync(join(packaging, 'debian', name)), 0o755)
  settle(tree, build.epoch)
  const file = join(out, `steeple_${debVersion(build)}_${ARCHITECTURES[build.arch]}.deb`)
  const { status, stderr, error } = spawnSync(
    'dpkg-deb',
    ['--root-owner-group', '-Zgzip', `-z${level}`, '--build', tree, file],
    {
      encoding: 'utf8',
      env: { ...process.env, SOURCE_DATE_EPOCH: String(build.epoch) },
    },
  )
  if (error !== undefined || status !== 0) throw new Error(`dpkg-deb: ${error?.message ?? stderr}`)
  return file
}

/** A later commit of one version is a later package. */
function debVersion({ version, date, commit }) {
  return `${version}+${date.replaceAll(/[-:TZ]/g, '')}.${commit.slice(0, 7)}`
}

function controlOf(build, tree) {
  const bytes = filesBelow(join(tree, 'usr')).length * 2048 + sizeOf(tree)
  const helpers = [...new Set(build.has.flatMap((name) => HELPERS[name] ?? []))].sort()
  const pcap = build.has.includes('collector-gtpu') && !build.lacks.includes('pcap') ? ['libpcap0.8'] : []
  const fields = [
    ['Package', 'steeple'],
    ['Version', debVersion(build)],
    ['Architecture', ARCHITECTURES[build.arch]],
    ['Maintainer', 'The authors of Steeple <steeple@packages.invalid>'],
    ['Installed-Size', String(Math.ceil(bytes / 1024))],
    ['Depends', 'libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 10), passwd'],
    ...(helpers.length === 0 ? [] : [['Recommends', helpers.join(', ')]]),
    ...(pcap.length === 0 ? [] : [['Suggests', pcap.join(', ')]]),
    ['Section', 'net'],
    ['Priority', 'optional'],
    ['Description', `control plane of a mobile network in a box\n${description(build)}`],
  ]
  return `${fields.map(([name, value]) => `${name}: ${value}`).join('\n')}\n`
}

function description({ has, lacks, node }) {
  return [
    ' Issues SIMs, drives a 4G or 5G core and a radio, meters and cuts off.',
    ` Node.js ${node} is in it.`,
    ` Has ${has.join(' ')}.`,
    ...(lacks.length === 0 ? [] : [` Lacks ${lacks.join(' ')}.`]),
  ].join('\n')
}

function sizeOf(tree) {
  const { stdout } = spawnSync('du', ['--apparent-size', '-sb', tree], { encoding: 'utf8' })
  return Number.parseInt(stdout, 10)
}
