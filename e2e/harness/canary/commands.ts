import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { imsiHashOf } from '../hss/sims.ts'
import type { Person } from '../people.ts'
import { runSvc } from '../service.ts'
import type { Scene } from './scene.ts'

/** A command line and what it is given. */
export interface Command {
  /** The command's words, as in the completion script. */
  readonly name: string
  readonly args: readonly string[]
  readonly input?: string
  /** In place of the credential of the other commands. */
  readonly token?: string
}

/** What a command needs to name things of the service. */
export interface CommandWorld {
  readonly dataDir: string
  /** A folder for files of the commands. */
  readonly workDir: string
  readonly tokenId: string
  readonly simHash: string
  /** A whole IMSI, which is asked for on standard input. */
  readonly imsi: string
  readonly configFile: string
  readonly importFile: string
  /** A secret of the plugin `apart`, which is given on standard input. */
  readonly sealed: string
  /** A password that somebody chooses, which is given on standard input. */
  readonly password: string
  /** A file with it. */
  readonly passwordFile: string
  /** Who has logged in, for what is people's alone. */
  readonly person: PersonHere
}

export interface PersonHere extends Pick<Person, 'password' | 'recovery_codes'> {
  readonly token: string
}

/** The public key of nobody. */
const NO_ALERT = 'a-0123456789abcdef'
const PEER_KEY = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='

/** A world for the commands: files with secrets in them in `workDir`, and a token to revoke. */
export function commandWorld(
  { dataDir, texts }: Pick<Scene, 'dataDir' | 'texts'>,
  workDir: string,
  tokenId: string,
  person: PersonHere,
): CommandWorld {
  const { password, imsi, ki, opc, sealed } = texts
  const configFile = join(workDir, 'control.yaml')
  const importFile = join(workDir, 'cards.csv')
  const lines = [
    `store:\n  url: postgres://svc:${password}@127.0.0.1/svc`,
    `hss:\n  mongo_url: mongodb://svc:${password}@127.0.0.1/open5gs`,
    `auth:\n  admin_token_env: ${password}\n  password: ${password}\n  token: ${password}`,
    `alerts:\n  webhooks:\n    - {url: "https://u:${password}@example.org/", secret: ${password}}`,
  ]
  writeFileSync(configFile, `${lines.join('\n')}\n`)
  writeFileSync(importFile, `imsi,ki,opc,label\n${imsi},${ki},${opc},x\n${imsi},${ki}1,${opc},x\n`)
  const passwordFile = join(workDir, 'passphrase')
  writeFileSync(passwordFile, `${password}\n`)
  const simHash = imsiHashOf(imsi)
  return {
    dataDir,
    workDir,
    tokenId,
    simHash,
    imsi,
    configFile,
    importFile,
    sealed,
    password,
    passwordFile,
    person,
  }
}

/** Calls that fail before or at the service, with a password in what is given. */
export function wrongCalls({
  configFile,
  importFile,
  password,
}: CommandWorld): readonly (readonly string[])[] {
  return [
    ['status', '--url', `http://svc:${password}@127.0.0.1:1`],
    ['status', '--token', `two words ${password}`],
    ['status', '--token', password],
    ['status', '--token-file', importFile],
    ['token', 'create', 'x', '--role', 'viewer', '--token', password],
    ['policy', 'set', '--file', configFile, '--token', password],
    ['--config', configFile],
    ['doctor', '--config', configFile],
    ['vault', 'rotate', '--config', configFile],
  ]
}

/** At least one call of every command, in an order in which they work. */
export function everyCommand(world: CommandWorld): readonly Command[] {
  const place = ['--data-dir', world.dataDir]
  const call = (name: string, ...more: readonly string[]): Command => ({
    name,
    args: [...name.split(' '), ...more],
  })
  return [
    call('status'),
    call('health'),
    call('node list'),
    call('lifecycle move', 'provision', 'on-air'),
    call('spectrum check', '--technology', 'lte', '--channel', '1300'),
    call('token list'),
    call('token create', 'from the command', '--role', 'viewer'),
    call('token create', 'bootstrap', '--kind', 'bootstrap'),
    call('token revoke', world.tokenId),
    { ...call('login', 'canary'), input: `${world.password}\n123456\n` },
    call('logout'),
    call('whoami'),
    { ...call('recovery show'), token: world.person.token },
    {
      ...call('recovery replace'),
      token: world.person.token,
      input: `${world.person.password}\n${world.person.recovery_codes[0]}\n`,
    },
    call('console'),
    call('user add', 'canary', '--role', 'viewer'),
    call('user list'),
    call('user roles', 'canary', 'operator'),
    call('user invite', 'guest', '--role', 'viewer'),
    { ...call('user accept'), input: `svci_${'x'.repeat(43)}\n${world.password}\n` },
    call('user cert add', 'canary', '--out', world.workDir, '--p12'),
    call('user cert list', 'canary'),
    call('user cert remove', 'canary', '0'),
    call('user passkey list', 'canary'),
    call('user passkey remove', 'canary', 'nobody'),
    call('user invitation remove', 'nobody'),
    call('user reset', 'canary'),
    call('user remove', 'canary'),
    call('mesh invite', '--name', 'from the command'),
    call('mesh find', world.simHash),
    call('mesh member list'),
    call('mesh root-address', 'https://127.0.0.1:1'),
    call('mesh take-root'),
    { ...call('node join', '-', 'https://127.0.0.1:1'), input: `svcb_${'0'.repeat(32)}_${'x'.repeat(43)}\n` },
    call('node leave'),
    call('node remove', 'nobody'),
    call('alert list', '--state', 'all'),
    call('incidents'),
    call('alert ack', NO_ALERT),
    call('alert silence', NO_ALERT, '--for', '1h'),
    call('alert message list'),
    call('alert test', 'nobody'),
    {
      ...call('alert receiver add', 'typed', '--kind', 'telegram', '--chat', '1'),
      input: `${world.password}\n`,
    },
    call('alert receiver list'),
    call('alert receiver test', 'nobody'),
    call('alert receiver remove', 'typed'),
    call('peer list'),
    call('peer show', 'nobody'),
    call('peer key'),
    call('peer add', 'canary', 'wg://192.0.2.1:51820', PEER_KEY, '--route', '198.51.100.7/32'),
    ...['accept', 'approve', 'remove'].map((verb) => call(`peer ${verb}`, 'canary')),
    call('peer rotate'),
    call('policy get'),
    call('policy set', 'sim_swap_cooldown_hours=12'),
    call('tx status'),
    call('tx arm', 'nobody'),
    call('tx disarm'),
    call('tx profile list'),
    call('tx profile set', 'mast', '--channel', '1300', '--bandwidth', '10', '--dry-run'),
    call('tx profile remove', 'nobody'),
    call('core plan'),
    call('core set', '--dns', '192.0.2.53', '--yes'),
    call('core adopt'),
    call('core take-over', '--yes'),
    call('core restart'),
    call('core restore-original'),
    call('core release'),
    call('sim issue', '--count', '2', '--label', 'from the command'),
    call('sim list'),
    call('sim show', world.simHash),
    call('sim suspend', world.simHash),
    call('sim resume', world.simHash),
    call('sim revoke', world.simHash),
    call('sim label', world.simHash, 'from the command'),
    call('sim subscription', world.simHash, '--uplink-bps', '1000000'),
    call('sim find', 'the command'),
    { ...call('sim find', '-'), input: world.imsi },
    call('sim why', world.simHash),
    { ...call('sim why', '-'), input: world.imsi },
    call('sim quota', world.simHash, '--bytes', '5GB'),
    call('sim quota', world.imsi),
    call('sim reach', world.simHash, 'mesh'),
    call('sim reach', world.imsi),
    call('roaming boxes'),
    call('roaming reach', 'mesh', world.simHash),
    call('roaming reach', 'mesh', world.imsi),
    call('roaming permit', '00000000-0000-4000-8000-000000000000'),
    call('roaming forbid', '00000000-0000-4000-8000-000000000000'),
    call('roaming visitors'),
    call('group list'),
    call('group show', 'nobody'),
    call('group set', 'nobody', world.importFile),
    call('group remove', 'nobody'),
    call('group invite', 'nobody', 'ada', '--role', 'viewer'),
    call('group uninvite', 'nobody', 'ada'),
    call('group boxes'),
    call('group steering'),
    call('group permit', 'policy'),
    call('software show'),
    call('software use', '0a1b2c3d4e5f'),
    call('sim import', world.importFile),
    call('sim foreign'),
    call('sim adopt', '--all'),
    call('sim adopt', world.imsi),
    call('sim adopt', '--all', '--file', world.importFile),
    call('sim foreign', '--other'),
    call('sim adopt', '--all', '--other'),
    call('policy license list'),
    call('policy license attach', world.importFile),
    call('policy license download', 'd-000000000000', `${world.workDir}/license`),
    call('policy license remove', 'd-000000000000'),
    call('policy license sign', world.importFile, `${world.workDir}/none.key`),
    call('policy license take', world.importFile),
    call('policy license signed'),
    call('tx profile dry-run', 'mast'),
    call('tx devices'),
    call('sim write', world.simHash, '--script', `${world.workDir}/scripts`),
    call('sim write', world.imsi),
    { ...call('esim issue', world.simHash, '--confirmation-code', '-'), input: '4711' },
    call('esim list', '--sim', world.simHash),
    call('esim show', 'e-nobody'),
    call('esim show', world.imsi),
    call('esim qr', 'e-nobody', '--png', `${world.workDir}/code.png`),
    call('esim revoke', 'e-nobody'),
    call('esim sheet', 'b-nobody', '--out', `${world.workDir}/cards.html`),
    call('esim mdm-list', 'b-nobody', '--out', `${world.workDir}/mdm.csv`),
    call('esim provider list'),
    call('esim provider show', 'nobody'),
    call('esim provider set', 'canary', '--name', 'Canary', '--order-key', world.importFile),
    call('esim provider password', 'nobody'),
    call('esim provider order-file', 'nobody', '--sim', world.simHash, '--out', `${world.workDir}/order.asc`),
    call('esim provider import', 'nobody', world.importFile),
    call('esim provider order', 'nobody', '--sim', world.simHash),
    call('esim provider remove', 'nobody'),
    call('esim euicc list'),
    call('esim certs init'),
    call('esim certs import', world.importFile),
    call('esim certs list'),
    call('esim certs export-ci'),
    call('esim certs show', '0'.repeat(64)),
    call('esim certs remove', '0'.repeat(64)),
    call('esim certs revoke', '0'.repeat(64)),
    call('esim certs lab-eum', '--out', `${world.workDir}/eum.json`),
    call('session list'),
    call('session list', '--state', 'ended', '--sim', world.simHash),
    call('session list', '--sim', world.imsi),
    call('usage', world.simHash),
    call('usage', world.imsi),
    call('backup', `${world.workDir}/box.enc`, '--passphrase-file', world.passwordFile),
    call('restore', `${world.workDir}/box.enc`, '--passphrase-file', world.passwordFile, '--dry-run'),
    call('reopen', '--all'),
    call('support bundle', '-o', `${world.workDir}/bundle.tar.gz`),
    call('log-level', 'debug', '--for', '1m'),
    call('compliance export', '-o', `${world.workDir}/regulator.csv`),
    call('compliance verify', `${world.workDir}/regulator.csv`, ...place),
    call('compliance erasures'),
    call('sim forget', '0'.repeat(12)),
    call('sim forget', world.imsi),
    call('clock show'),
    call('clock confirm'),
    call('audit list', '--limit', '5000'),
    call('audit verify', ...place),
    call('plugin list'),
    call('plugin load', 'nobody'),
    ...['unload', 'disable', 'enable', 'uninstall'].map((verb) => call(`plugin ${verb}`, 'nobody')),
    call('plugin dev', `${world.workDir}/nobody`),
    call('plugin reload', 'policy'),
    call('plugin rollback', 'policy'),
    call('plugin new', 'sample', '--kind', 'feature', '--dir', `${world.workDir}/sample`),
    call('plugin key', `${world.workDir}/plugins.key`),
    call('plugin pack', `${world.workDir}/sample`, '--key', `${world.workDir}/plugins.key`),
    call('secret remove', 'apart', 'api_key'),
    { ...call('secret set', 'apart', 'api_key'), input: world.sealed },
    call('secret list', 'apart'),
    call('config check', world.configFile),
    call('node init', ...place),
    call('doctor', ...place),
    call('completion', 'bash'),
    call('completion', 'fish'),
  ]
}

/** Commands that need the service to be stopped, or that show sealed things on purpose. */
export function offlineCommands(world: CommandWorld): readonly Command[] {
  const place = ['--data-dir', world.dataDir]
  return [
    { name: 'vault rotate', args: ['vault', 'rotate', ...place] },
    { name: 'audit verify', args: ['audit', 'verify', ...place] },
    { name: 'store accept', args: ['store', 'accept', ...place] },
    { name: 'store new', args: ['store', 'new', ...place] },
    { name: 'doctor', args: ['doctor', ...place] },
    {
      name: 'support bundle',
      args: ['support', 'bundle', '--offline', '-o', `${world.workDir}/offline.tar.gz`, ...place],
    },
    { name: 'sim export', args: ['sim', 'export', 'nobody', ...place] },
  ]
}

/** The words of every command that does something, from the product's own completion script. */
export async function knownCommands(): Promise<readonly string[]> {
  const { stdout } = await runSvc(['completion', 'bash'])
  const paths = [...stdout.matchAll(/^ {4}'([a-z -]+)'\) words='([^']*)'/gm)]
  const groups = new Set(paths.map(([, path = '']) => path.split(' ').slice(0, -1).join(' ')))
  return paths.map(([, path = '']) => path).filter((path) => !groups.has(path))
}
