import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { type Check, broken as failed, healthy, reasonOf } from './check.ts'
import type { Named } from './doctor-part.ts'

const ANSWER_LIMIT_MS = 5000

/** Asks the engine on a socket for every container that the configuration names; changes nothing. */
export async function checkContainers(socket: string, named: readonly Named[]): Promise<readonly Check[]> {
  if (named.length === 0) return []
  const { engineAt } = await import('@steeple/southbound')
  const engine = engineAt(socket, { answerMs: ANSWER_LIMIT_MS })
  const signal = AbortSignal.timeout(2 * ANSWER_LIMIT_MS)
  return await Promise.all(
    named.map(async ({ name, what: container, key }) => {
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

/** Looks whether the programs that the configuration names can be executed; runs none. `path` is `$PATH`. */
export async function checkPrograms(programs: readonly Named[], path: string): Promise<readonly Check[]> {
  return await Promise.all(
    programs.map(async ({ name, what: program, key }) => {
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
