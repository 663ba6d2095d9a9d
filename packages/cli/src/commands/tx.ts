import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/rest-client.ts'
import { writeDisarmNote } from '../disarm-note.ts'
import { printRecord } from '../output/print.ts'
import { type PlaceOptions, settingsHere } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { placeOptions, restCommand } from './options.ts'

/** `svc tx arm|disarm|status` */
export function addTxCommands(program: Command, terminal: Terminal): void {
  const tx = program.command('tx').description('the TX gate')
  restCommand(tx, 'arm <profile>', 'let the radio transmit with a configured profile (ran.profiles)').action(
    async (profile: string, options: ConnectionOptions) => {
      const body = { arm: true, profile_id: profile }
      const answer = await connect(terminal, options).change('POST', '/v1/tx/arm', body)
      printRecord(terminal, options.json === true, answer.body)
    },
  )
  placeOptions(restCommand(tx, 'disarm', 'stop the transmitter; answers when it is silent')).action(
    async (options: ConnectionOptions & PlaceOptions) => {
      const noted = await noteDisarm(terminal, options)
      try {
        const answer = await connect(terminal, options).change('POST', '/v1/tx/disarm')
        printRecord(terminal, options.json === true, answer.body)
      } catch (error) {
        if (noted !== undefined)
          terminal.err(
            `svc: the disarm stands in ${noted}: the guard of a radio ends it within a second, and nothing goes on air again\n`,
          )
        throw error
      }
    },
  )
  restCommand(tx, 'status', 'the three layers and whether TX is armed').action(
    async (options: ConnectionOptions) => {
      const answer = await connect(terminal, options).get('/v1/tx/arm')
      printRecord(terminal, options.json === true, answer.body)
    },
  )
}

/**
 * Writes the disarm where the guard of the radio and the next start read it: a service that does not answer, or does not run, stops
 * all the same. The file, when that was possible: on this machine, for whom the data directory belongs to.
 */
async function noteDisarm(
  terminal: Terminal,
  options: ConnectionOptions & PlaceOptions,
): Promise<string | undefined> {
  const isElsewhere = options.url !== undefined || (terminal.env.SVC_URL ?? '') !== ''
  if (isElsewhere && options.config === undefined && options.dataDir === undefined) return undefined
  try {
    const dataDir = options.dataDir ?? (await settingsHere(terminal, options)).server.data_dir
    return await writeDisarmNote(dataDir, `local:${userInfo().username}`)
  } catch {
    return undefined // The service is asked anyway.
  }
}
