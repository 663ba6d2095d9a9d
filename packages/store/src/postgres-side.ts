import type { SqlParams } from '@steeple/contracts'
import type { Client, QueryResult } from 'pg'
import type { SideConnection } from './database.ts'
import type { QueryMaker } from './postgres-statements.ts'
import { isConnectionError, postgresError } from './store-error.ts'

/** The connection beside reader and writer. It connects when it is asked, at first and after each loss. */
export function postgresSide(connect: () => Client, query: QueryMaker): SideConnection {
  const heard = new Map<string, () => void>()
  let current: Promise<Client> | undefined
  let isClosed = false

  const drop = (lost: Promise<Client>): void => {
    if (current === lost) current = undefined
    lost.then((client) => client.end()).catch(() => undefined)
  }
  const open = async (dropped: () => void): Promise<Client> => {
    const client = connect()
    client.on('error', dropped)
    client.on('end', dropped)
    client.on('notification', ({ channel }) => heard.get(channel)?.())
    try {
      await client.connect()
      for (const channel of heard.keys()) await client.query(`listen ${channel}`)
      return client
    } catch (error) {
      client.end().catch(() => undefined)
      throw error
    }
  }
  const connected = (): Promise<Client> => {
    if (isClosed) return Promise.reject(new Error('the connection is closed'))
    if (current !== undefined) return current
    const opening: Promise<Client> = open(() => drop(opening))
    current = opening
    opening.catch(() => drop(opening))
    return opening
  }
  const send = async (ask: (client: Client) => Promise<QueryResult>): Promise<QueryResult> => {
    let used: Promise<Client> | undefined
    try {
      used = connected()
      return await ask(await used)
    } catch (error) {
      if (used !== undefined && error instanceof Error && isConnectionError(error)) drop(used)
      throw postgresError(error)
    }
  }
  return {
    // The caller names the row type; the statement's column list is what it relies on.
    all: async <Row>(sql: string, params?: SqlParams) =>
      (await send((client) => client.query(query(sql, params)))).rows as Row[],
    listen: async (channel, listener) => {
      await send((client) => client.query(`listen ${channel}`))
      heard.set(channel, listener)
    },
    close: async () => {
      isClosed = true
      const last = await current?.catch(() => undefined)
      await last?.end().catch(() => undefined)
    },
  }
}
