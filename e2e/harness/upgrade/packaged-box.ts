import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { eventually } from '@steeple/testkit'
import type { BootedDebian } from '../../containers/booted-debian.ts'
import { run } from '../builds/make-build.ts'
import { type LabPhone, labPhones } from '../lab-core.ts'
import { ROOT } from '../launch.ts'
import { startRegistry } from '../plugins/registry.ts'
import { type Answer, ask as askService } from '../service.ts'

/** Where the API of a packaged service is. */
const URL_OF_BOX = 'http://127.0.0.1:8080'
const LAB = 'http://127.0.0.2:9091'
const LAB_FOLDER = '/var/lib/lab-core'
const MODULE = '/usr/lib/steeple/lib/node_modules/@steeple/lab-core/dist'

/** What an operator writes of everything that a build can do, with the lab core as the core. */
const configFor = (dbctl: string): string => `server:
  listen: 127.0.0.1:8080
hss:
  driver: dbctl
  dbctl_path: ${dbctl}
collector:
  enabled: true
  interval: 1s
  mme_url: http://127.0.0.2:9090
  smf_url: http://127.0.0.4:9090
  upf:
    enabled: true
    iface: lo
    core_addresses: [127.0.0.6]
fairuse:
  enabled: true
alerts:
  enabled: true
esim:
  enabled: true
  smdp_address: 127.0.0.1:8080
`
/** What the service's user types; the token stands in no list of processes. */
const SVC =
  'SVC_TOKEN=$(cat /var/lib/svc/first-token) HOME=/var/lib/svc; export SVC_TOKEN HOME; exec svc "$@"'
/** As docs/packages.md has it for the tap. */
const TAP = `[Service]
PrivateUsers=no
CapabilityBoundingSet=CAP_NET_ADMIN
AmbientCapabilities=CAP_NET_ADMIN
SystemCallFilter=@privileged
Environment=LAB_CORE_DIR=${LAB_FOLDER}
`
const DBCTL = `#!/bin/sh
exec /usr/lib/steeple/bin/node ${MODULE}/open5gs-dbctl.js "$@"
`
/** A core is a program of its own: nothing of it ends when the service is upgraded. Its copy of the programs is its own, too. */
const LAB_UNIT = `[Service]
ExecStart=/opt/lab-core/node /opt/lab-core/main.js serve --dir ${LAB_FOLDER}
StateDirectory=lab-core
User=steeple
UMask=0077
[Install]
WantedBy=multi-user.target
`

/** A box that was installed from a package and runs under systemd, and what is asked of it most. */
export interface PackagedBox {
  readonly debian: BootedDebian
  /** Installs a package file where none is. Waits until the service answers. */
  install(deb: string): Promise<void>
  /** Does what docs/how-to/upgrade.md says under a heading, with a package file. Gives what was printed. */
  follow(heading: string, deb: string): Promise<string>
  /** Waits until the service answers. */
  answers(): Promise<void>
  ask(method: string, path: string, body?: unknown, type?: string): Promise<Answer>
  /** As `ask`; throws for every answer that is none of success. */
  get(path: string): Promise<Answer['body']>
  post(path: string, body: unknown, type?: string): Promise<Answer['body']>
  /** Every item of a list, over its pages. */
  all(path: string, name: string): Promise<readonly Answer['body'][]>
  phones(): Promise<readonly LabPhone[]>
  phone(hash: string, action: string, body?: object): Promise<void>
  /** Puts the cards of a batch into phones; once all phones are on. */
  insert(batch: string): Promise<void>
  /** Runs `svc` as the service's user; throws what it said when it did not end with 0. */
  svc(...args: readonly string[]): Promise<string>
  /** A number of systemd's on the service, e.g. MainPID. */
  property(name: string): Promise<string>
}

/** A box on `debian`, on which no package is yet. */
export function packagedBox(debian: BootedDebian): PackagedBox {
  const token = (): string => debian.read('/var/lib/svc/first-token').trim()
  const ask: PackagedBox['ask'] = (method, path, body, type = 'application/json') =>
    askService(URL_OF_BOX, method, path, { token: token(), body, headers: { 'content-type': type } })
  const wanted = async (method: string, path: string, body?: unknown, type?: string) => {
    const answer = await ask(method, path, body, type)
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const box: PackagedBox = {
    debian,
    ask,
    get: (path) => wanted('GET', path),
    post: (path, body, type) => wanted(path === '/v1/policy' ? 'PUT' : 'POST', path, body, type),
    install: async (deb) => {
      await debian.must('dpkg', '-i', debian.bring(deb))
      await answers(debian)
    },
    follow: async (heading, deb) => {
      const script = commandsOf(heading).replace(/\.\/steeple_….deb/, debian.bring(deb))
      return await debian.must('sh', '-exc', script)
    },
    answers: () => answers(debian),
    all: async (path, name) => {
      const found: Answer['body'][] = []
      let cursor: string | null = null
      do {
        const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
        const page: Answer['body'] = await box.get(`${path}?limit=500${more}`)
        found.push(...page[name])
        cursor = page.next_cursor
      } while (cursor !== null)
      return found
    },
    svc: (...args) => debian.must('runuser', '-u', 'steeple', '--', 'sh', '-c', SVC, 'svc', ...args),
    phones: () => labPhones(LAB),
    phone: async (hash, action, body = {}) => {
      await labPhones(LAB, 'POST', `/phones/${hash}/${action}`, JSON.stringify(body))
    },
    insert: async (batch) => {
      const exported = `svc sim export ${batch} --data-dir /var/lib/svc --format json`
      await debian.must('sh', '-c', `runuser -u steeple -- ${exported} | /usr/lib/steeple/bin/lab insert`)
      await eventually(async () => (await labPhones(LAB)).every(({ state }) => state === 'connected'))
    },
    property: async (name) =>
      (await debian.must('systemctl', 'show', '--value', '-p', name, 'steeple')).trim(),
  }
  return box
}

/**
 * Makes what an operator would: a configuration for everything and `more` of it, what the tap needs, and a core that runs for
 * itself.
 */
export async function equip({ debian }: PackagedBox, more = ''): Promise<void> {
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(debian.folder, path)), { recursive: true })
    writeFileSync(join(debian.folder, path), text, { mode })
  }
  // 0.2.0 has none that runs without a Node of the machine's.
  const [own, ours] = ['/usr/local/bin/open5gs-dbctl', '/usr/lib/steeple/bin/open5gs-dbctl']
  put('/etc/svc/control.yaml', configFor(debian.has(ours) ? ours : own) + more)
  put('/etc/systemd/system/steeple.service.d/tap.conf', TAP)
  put('/etc/systemd/system/lab-core.service', LAB_UNIT)
  put(own, DBCTL, 0o755)
  // Where it is done again, it begins from nothing, too.
  await debian.run('systemctl', 'stop', 'lab-core')
  await debian.must('rm', '-rf', '/opt/lab-core', LAB_FOLDER)
  await debian.must('mkdir', '/opt/lab-core')
  await debian.must('cp', '/usr/lib/steeple/bin/node', `${MODULE}/main.js`, '/opt/lab-core/')
  await debian.must('ln', '-s', '/usr/lib/steeple/lib/node_modules', '/opt/lab-core/node_modules')
  await debian.must('systemctl', 'daemon-reload')
  await debian.must('systemctl', 'start', 'lab-core')
  await debian.must('systemctl', 'restart', 'steeple')
  await answers(debian)
}

/** The commands below a heading of the page on upgrades; those that need the service come after it is up. */
function commandsOf(heading: string): string {
  const page = readFileSync(join(ROOT, 'docs/how-to/upgrade.md'), 'utf8')
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const [, commands] = /^```sh\n([\s\S]*?)^```/m.exec(section) ?? []
  if (commands === undefined) throw new Error(`the page on upgrades has no commands under ${heading}`)
  return commands
}

async function answers(debian: BootedDebian): Promise<void> {
  await eventually(async () => (await fetch(`${URL_OF_BOX}/v1/healthz`)).status === 200).catch(
    async (cause: unknown) => {
      throw new Error(`it does not answer:\n${(await debian.run('journalctl', '-u', 'steeple')).said}`, {
        cause,
      })
    },
  )
}

/** The plugin, by its name. */
const OUTSIDE = 'field-notes'
const FILE = `${OUTSIDE}-0.1.0.tgz`
const NOTES = `/v1/${OUTSIDE}/notes`

/** A signed package of somebody else, and what goes into `plugins.trust` to believe whoever signed it. */
export interface OutsidePlugin {
  readonly file: string
  readonly trust: string
}

/**
 * Makes a project outside of any repository with a release, whose built checkout is `checkout`: what its command writes, with what its
 * packages need from a registry alone, and signs it by a key that was made for it. Puts the package into `out`.
 */
export async function makeOutsidePlugin(checkout: string, work: string, out: string): Promise<OutsidePlugin> {
  mkdirSync(work)
  const registry = await startRegistry(join(work, 'registry'), checkout)
  const env = {
    ...registry.env,
    HOME: work,
    NO_COLOR: '1',
    PATH: [dirname(process.execPath), process.env.PATH].join(':'),
  }
  const svc = [process.execPath, join(checkout, 'packages/cli/dist/main.js')]
  const must = async (...command: readonly string[]): Promise<string> => {
    const [code, said] = await inFolder(work, command, env)
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${said}`)
    return said
  }
  try {
    await must(
      process.execPath,
      join(checkout, 'scripts/builds/pack.mjs'),
      'npm',
      '--out',
      join(work, 'packed'),
    )
    const made = ['--kind', 'feature', '--packages', join(work, 'packed'), '--dir', join(work, OUTSIDE)]
    await must(...svc, 'plugin', 'new', OUTSIDE, ...made)
    await must('sh', '-ec', `cd ${OUTSIDE} && npm install && npm test && npm run build`)
    const key = join(work, 'outside.key')
    const { trust } = JSON.parse(await must(...svc, 'plugin', 'key', key, '--json'))
    await must(...svc, 'plugin', 'pack', OUTSIDE, '--key', key, '--out', work)
    mkdirSync(out, { recursive: true })
    copyFileSync(join(work, FILE), join(out, FILE))
    return { file: join(out, FILE), trust }
  } finally {
    await registry.close()
  }
}

async function inFolder(
  folder: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<readonly [number | null, string]> {
  const { code, said } = await run('sh', ['-ec', 'cd "$0" && exec "$@"', folder, ...command], env)
  return [code, said]
}

/** What an operator writes to have it: whom to believe, and a key of its own. */
export function configOfOutside({ trust }: OutsidePlugin): string {
  return `plugins:\n  trust:\n    - ${JSON.stringify(trust)}\nfield_notes:\n  max_notes: 2\n`
}

/** Installs it, and uses it as far as its configuration allows. */
export async function useOutside({ debian, svc, ask }: PackagedBox, { file }: OutsidePlugin): Promise<void> {
  const place = `/var/tmp/${FILE}`
  await debian.must('install', '-o', 'steeple', '-m', '600', debian.bring(file), place)
  await svc('plugin', 'load', place)
  await debian.must('rm', place)
  for (const name of ['mast', 'shed']) {
    const { status } = await ask('PUT', `${NOTES}/${name}`, { body: `of the ${name}` })
    if (status >= 300) throw new Error(`${URL_OF_BOX}${NOTES}/${name}: ${status}`)
  }
}

/** What must outlive a change of the programs: who has signed it, its rows, and that its configuration holds. */
export interface KeptOfOutside {
  readonly state: string
  readonly version: string
  readonly signedBy: string | null
  readonly notes: { readonly notes: readonly object[] }
  /** Status and code of what its configuration forbids. */
  readonly third: readonly [number, string]
}

/** Looks at it. */
export async function keptOfOutside({ get, ask, all }: PackagedBox): Promise<KeptOfOutside> {
  const record = (await all('/v1/plugins', 'plugins')).find(({ name }) => name === OUTSIDE)
  const third = await ask('PUT', `${NOTES}/third`, { body: 'one too many' })
  return {
    state: record?.state,
    version: record?.version,
    signedBy: record?.signed_by,
    notes: await get(NOTES),
    third: [third.status, third.body.error.code],
  }
}
