import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DATA_REPOSITORY } from './data-repository.ts'
import type { Engine } from './engine.ts'
import { machineFolder } from './own-machine.ts'

/** The functions of a free5GC core without charging, in the order in which they come up. */
export const CORE_B_ROLES = ['nrf', 'udr', 'udm', 'ausf', 'nssf', 'pcf', 'upf', 'smf', 'amf'] as const

export type CoreBRole = (typeof CORE_B_ROLES)[number]

const FUNCTIONS_FOLDER = join(homedir(), '.cache', 'steeple-test', 'free5gc-functions-5')
/** Where whoever has built the functions that no registry gives has put them. */
const FURTHER_FOLDER = process.env.SVC_TEST_CORE_FUNCTIONS ?? ''
/** Of which release those are. */
export const FURTHER_RELEASE: string = process.env.SVC_TEST_CORE_RELEASE ?? '4.2.3'
/** What a registration and a session need beside those that can be had. */
const FURTHER_ROLES = ['udr', 'udm', 'ausf', 'nssf', 'smf'] as const
/** What a registry gives of release 3.0 alone. */
const OLD_ROLES = ['udm', 'ausf'] as const
const MOUNT = '/free5gc/config'
/** The SMF reads a second file. */
const ROUTES = ['-u', `${MOUNT}/uerouting.yaml`] as const

/** A free5GC core in containers: some of its functions are the real ones, stand-ins the others. */
export interface TestCoreB {
  readonly configDir: string
  readonly containers: Readonly<Record<CoreBRole, string>>
  /** A stand-in refuses a file with this text from now on. */
  refuse(role: CoreBRole, text: string): void
}

/** Ends the file of tests with a word of what it needs when no function was built. In CI that is an error. */
export function needFunctions(): void {
  if (existsSync(join(FUNCTIONS_FOLDER, 'ready'))) return
  const script = 'packages/driver-core-b/scripts/get-real-core.sh'
  if (process.env.CI === 'true') throw new Error(`the real functions are missing; run ${script} once`)
  process.stdout.write(`needs ${script}\n`)
  process.exit(0)
}

/** Ends the file of tests, also in CI, with a word of what it needs when the other functions were not built by hand. */
export function needFurtherFunctions(): void {
  if (FURTHER_ROLES.every((role) => existsSync(join(FURTHER_FOLDER, role)))) return
  process.stdout.write(
    `needs SVC_TEST_CORE_FUNCTIONS, a folder with the programs ${FURTHER_ROLES.join(', ')} of free5GC ${FURTHER_RELEASE}, ` +
      'and with nrf, pcf and amf where SVC_TEST_CORE_RELEASE names another release than 4.2.3\n',
  )
  process.exit(0)
}

/** The functions that a registry gives: NRF, PCF and AMF of 4.2.3, the SMF of 3.4, UDM and AUSF of 3.0.5. */
export type GivenRole = 'nrf' | 'pcf' | 'amf' | 'smf' | (typeof OLD_ROLES)[number]

/** How the container of a real function begins. NRF, PCF and UDR want the database. */
export type RealFunctions = Partial<Record<CoreBRole, ContainerProgram>>

interface ContainerProgram {
  readonly command: readonly string[]
  readonly mounts: Readonly<Record<string, string>>
}

/** These functions as a registry gives them. */
export function givenFunctions(...roles: readonly GivenRole[]): RealFunctions {
  const isOld = (role: GivenRole): boolean => OLD_ROLES.some((one) => one === role)
  return Object.fromEntries(
    roles.map((role) => [role, isOld(role) ? oldProgram(role) : programOf(role, FUNCTIONS_FOLDER)]),
  )
}

/** All functions of the release that was built by hand; of 4.2.3 those that a registry gives are taken from there. */
export function handBuiltFunctions(): RealFunctions {
  const roles = CORE_B_ROLES.filter((role) => role !== 'upf')
  return Object.fromEntries(roles.map((role) => [role, programOf(role, folderOf(role))]))
}

function programOf(role: CoreBRole, folder: string): ContainerProgram {
  const command = [`/opt/core/${role}`, '-c', fileOf(role), ...(role === 'smf' ? ROUTES : [])]
  return { command, mounts: { '/opt/core': folder } }
}

/** Release 3.0 compares another version, and the UDM looks at its keys at each authentication, whether it needs one or not. */
function oldProgram(role: CoreBRole): ContainerProgram {
  const [own, keys] = ['/tmp/own.yaml', role === 'udm' ? 's/^configuration:/&\\n  keys: {}/' : '']
  const edits = `-e 's/^  version: .*/  version: "1.0.0"/' -e '${keys}'`
  const start = `sed ${edits} ${fileOf(role)} > ${own} && exec /opt/core/${role} -${role}cfg ${own}`
  return { command: ['sh', '-c', start], mounts: { '/opt/core': FUNCTIONS_FOLDER } }
}

function fileOf(role: CoreBRole): string {
  return `${MOUNT}/${role}cfg.yaml`
}

/** Makes the containers. A function without its file ends at once; the product starts it. */
export async function startCoreB(
  engine: Engine,
  real: RealFunctions = givenFunctions('amf'),
): Promise<TestCoreB> {
  const [configDir, stateDir] = [join(machineFolder(), 'free5gc'), join(machineFolder(), 'free5gc-state')]
  for (const folder of [configDir, stateDir]) mkdirSync(folder)
  const yaml = realpathSync(join(dirname(fileURLToPath(import.meta.resolve('yaml'))), '..'))
  const nameOf = (role: CoreBRole): string => `free5gc-${role}`
  for (const role of CORE_B_ROLES) {
    const place = role === 'udr' ? [DATA_REPOSITORY] : []
    const standIn = {
      command: ['node', '/opt/core/core-b-function.mjs', role, fileOf(role), ...place],
      mounts: {
        '/opt/core/core-b-function.mjs': join(import.meta.dirname, 'core-b-function.mjs'),
        '/opt/core/node_modules/yaml': yaml,
        '/var/lib/core': stateDir,
      },
    }
    const program = real[role] ?? standIn
    await engine.start({
      name: nameOf(role),
      command: program.command,
      mounts: { [MOUNT]: configDir, ...program.mounts },
    })
  }
  return {
    configDir,
    containers: Object.fromEntries(
      CORE_B_ROLES.map((role) => [role, nameOf(role)]),
    ) as TestCoreB['containers'],
    refuse: (role, text) => writeFileSync(join(stateDir, 'refused.json'), JSON.stringify({ [role]: text })),
  }
}

/** Of another release all functions are built by hand. */
function folderOf(role: CoreBRole): string {
  const isFurther = FURTHER_RELEASE !== '4.2.3' || FURTHER_ROLES.some((one) => one === role)
  return isFurther ? FURTHER_FOLDER : FUNCTIONS_FOLDER
}
