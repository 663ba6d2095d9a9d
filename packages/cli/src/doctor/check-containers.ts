import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { type Check, broken as failed, healthy, reasonOf } from './check.ts'

const ANSWER_LIMIT_MS = 5000

/** A container that the configuration names, and the key that names it. */
interface Named {
  readonly name: string
  readonly container: string
  readonly key: string
}

/** Asks the engine for every container that the configuration names; changes nothing. */
export async function checkContainers(settings: Settings): Promise<readonly Check[]> {
  const named = [...hssContainer(settings), ...coreContainers(settings)]
  if (named.length === 0) return []
  const { engineAt } = await import('@steeple/southbound')
  const engine = engineAt(settings.hss.engine_socket, { answerMs: ANSWER_LIMIT_MS })
  const signal = AbortSignal.timeout(2 * ANSWER_LIMIT_MS)
  return await Promise.all(
    named.map(async ({ name, container, key }) => {
      try {
        const state = await engine.inspect(container, signal)
        if (state === undefined)
          return failed(name, `there is no container ${container}`, `create it or correct ${key}`)
        return state.isRunning
          ? healthy(name, `container ${container} is running`)
          : failed(name, `container ${container} is not running`, 'start it; its own log says why it ended')
      } catch (error) {
        const remedy = `start the engine, let this user use its socket, or change ${key}`
        return failed(name, reasonOf(error), remedy)
      }
    }),
  )
}

function hssContainer({ hss }: Settings): readonly Named[] {
  const isShell = hss.mongo_url === '' && (hss.driver === 'docdb_shell' || hss.driver === 'core_b')
  return isShell ? [{ name: 'hss', container: hss.container, key: 'hss.container (or hss.driver)' }] : []
}

function coreContainers(settings: Settings): readonly Named[] {
  if (settings.southbound.driver !== 'container') return []
  const { core } = settings
  // Where another core's daemons are its own driver knows, and its health tells.
  if (core !== 'core_a' && core !== 'core_b') return []
  return Object.entries(settings[core].containers).map(([role, container]) => ({
    name: role,
    container,
    key: `${core}.containers.${role} (or southbound.driver)`,
  }))
}

/** Looks whether the programs that the configuration names can be executed; runs none. `path` is `$PATH`. */
export async function checkPrograms(settings: Settings, path: string): Promise<readonly Check[]> {
  const { hss, ran } = settings
  const programs = [
    ...(hss.driver === 'dbctl' ? [{ name: 'hss', program: hss.dbctl_path, key: 'hss.dbctl_path' }] : []),
    ...(ran.binary === ''
      ? []
      : [
          { name: 'radio', program: ran.binary, key: 'ran.binary' },
          { name: 'radio', program: 'setpriv', key: 'PATH: install util-linux' },
        ]),
  ]
  return await Promise.all(
    programs.map(async ({ name, program, key }) => {
      const found = await executable(program, path)
      return found === undefined
        ? failed(name, `${program} is not an executable file`, `install it or correct ${key}`)
        : healthy(name, `${found} can be executed`)
    }),
  )
}

/** The file that a command name means. */
async function executable(program: string, path: string): Promise<string | undefined> {
  const isPath = isAbsolute(program) || program.includes('/')
  const places = isPath ? [program] : path.split(delimiter).map((dir) => join(dir, program))
  for (const place of places) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return place
  }
  return undefined
}
