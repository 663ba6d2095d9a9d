import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A server of the test's own in front of a database. */
export interface DatabaseProxy {
  /** `mongodb://127.0.0.1:…` */
  readonly url: string
  /** Ends every connection that there is. */
  cut(): void
  close(): Promise<void>
}

/**
 * Starts one in front of the database on `port`. `join` is told of each client, of its own connection to the database and of what
 * ends both; it hands on what the client says. What the database says goes to the client.
 */
export async function startDatabaseProxy(
  port: number,
  join: (client: Socket, database: Socket, end: () => void) => void,
): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>()
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((client) => {
    const database = connect(port, '127.0.0.1')
    const end = (): void => {
      client.destroy()
      database.destroy()
    }
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    join(client, database, end)
    database.on('data', (bytes) => client.write(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    close: async () => {
      cut()
      server.close()
    },
  }
}
