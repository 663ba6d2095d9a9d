import { createConnection } from 'node:net'
import { type Check, broken as failed, healthy } from './check.ts'
import type { Neighbour } from './doctor-part.ts'

const CONNECT_LIMIT_MS = 3000

/** Connects to everything that the configuration names; sends nothing. */
export function checkReach(neighbours: readonly Neighbour[]): Promise<readonly Check[]> {
  return Promise.all(neighbours.map(reach))
}

function reach(neighbour: Neighbour): Promise<Check> {
  return new Promise((resolve) => {
    const socket = createConnection({ ...neighbour.connect, timeout: CONNECT_LIMIT_MS })
    const end = (check: Check): void => {
      socket.destroy()
      resolve(check)
    }
    const fail = (why: string): void =>
      end(failed(neighbour.name, `${neighbour.at}: ${why}`, neighbour.remedy))
    socket.on('connect', () => end(healthy(neighbour.name, `${neighbour.at} takes connections`)))
    socket.on('timeout', () => fail('no answer in 3 s'))
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
  })
}
