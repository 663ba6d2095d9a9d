import { mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, runTool } from '@steeple/testkit'
import type { Service } from '../harness/service.ts'
import type { Engine } from './engine.ts'
import { machineFolder } from './own-machine.ts'

/** What the components of the core driver and of the owner of its settings say, one a line. */
export async function coreHealth(service: Service): Promise<string> {
  const { body } = await service.request('GET', '/v1/health')
  return body.components
    .filter(({ name }: { name: string }) => /^(driver-core-|core-config\.)/.test(name))
    .map(({ name, status, detail }: Record<string, string>) => `${name} ${status}: ${detail}`)
    .join('\n')
}

/** Waits until the core runs with what is configured. */
export async function coreInForce(service: Service, limitMs: number): Promise<void> {
  let words = ''
  await eventually(async () => {
    words = await coreHealth(service)
    const { body } = await service.request('GET', '/v1/core/plan')
    return body.state === 'in_sync' && /core ok: .* in force/.test(words)
  }, limitMs).catch((cause) => {
    throw new Error(words, { cause })
  })
}

/** The daemons of an LTE core, in the order in which the first start brings them up. */
export const EPC_ROLES = ['upf', 'sgwu', 'smf', 'sgwc', 'hss', 'pcrf', 'mme'] as const

export type EpcRole = (typeof EPC_ROLES)[number]

/** A core in containers, one for each daemon, and the files that it runs with. */
export interface TestCore {
  /** What `core_a.config_dir` has to be. */
  readonly configDir: string
  /** What `core_a.containers` has to be. */
  readonly containers: Readonly<Record<EpcRole, string>>
  /** What the MME or the SMF lists from now on. */
  show(list: 'ue-info' | 'pdu-info' | 'enb-info', items: readonly unknown[]): void
  /** A daemon refuses a file with this text from now on. */
  refuse(role: EpcRole, text: string): void
}

/** Makes the containers. A daemon without its file ends at once, as the real one: the product starts it. */
export async function startCore(engine: Engine): Promise<TestCore> {
  const [configDir, stateDir] = [join(machineFolder(), 'open5gs'), join(machineFolder(), 'core-state')]
  for (const folder of [configDir, stateDir]) mkdirSync(folder)
  makeTunDevice()
  const yaml = realpathSync(join(dirname(fileURLToPath(import.meta.resolve('yaml'))), '..'))
  const mounts = {
    '/etc/open5gs': configDir,
    '/var/lib/core': stateDir,
    '/opt/core/core-daemon.mjs': join(import.meta.dirname, 'core-daemon.mjs'),
    '/opt/core/node_modules/yaml': yaml,
  }
  const nameOf = (role: EpcRole): string => `core-${role}`
  for (const role of EPC_ROLES) {
    const command = ['node', '/opt/core/core-daemon.mjs', role, `/etc/open5gs/${role}.yaml`]
    await engine.start({ name: nameOf(role), command, mounts })
  }
  return {
    configDir,
    containers: Object.fromEntries(EPC_ROLES.map((role) => [role, nameOf(role)])) as TestCore['containers'],
    show: (list, items) => replace(join(stateDir, `${list}.json`), items),
    refuse: (role, text) => replace(join(stateDir, 'refused.json'), { [role]: text }),
  }
}

/** What the machine of a UPF has to have. */
function makeTunDevice(): void {
  runTool('ip', 'tuntap', 'add', 'dev', 'ogstun', 'mode', 'tun')
  runTool('ip', 'addr', 'add', '10.45.0.1/16', 'dev', 'ogstun')
  runTool('ip', 'link', 'set', 'ogstun', 'up')
}

function replace(path: string, content: unknown): void {
  writeFileSync(`${path}.new`, JSON.stringify(content))
  renameSync(`${path}.new`, path)
}
