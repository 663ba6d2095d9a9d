import { deserialize } from 'bson'
import { startDatabaseProxy } from './database-proxy.ts'

/** A way to a database on which every command is noted, and every one that writes breaks the connection. */
export interface WatchedDatabase {
  readonly url: string
  /** Commands that would have written. */
  readonly writes: readonly string[]
  /** How many commands only read. */
  readonly reads: number
  close(): Promise<void>
}

/** Commands of the MongoDB protocol that change nothing. Whatever is not among them counts as a write. */
const READING: ReadonlySet<string> = new Set(
  'hello isMaster ismaster ping find getMore count aggregate distinct endSessions killCursors buildInfo'.split(
    ' ',
  ),
)
/** Octets before the document of an OP_MSG: header, flags, kind of section. */
const OP_MSG = { code: 2013, document: 21 } as const
const HEADER_OCTETS = 16

/** Starts one in front of the database on `port`. */
export async function startWatchedDatabase(port: number): Promise<WatchedDatabase> {
  const writes: string[] = []
  let reads = 0
  const proxy = await startDatabaseProxy(port, (client, database, end) => {
    let waiting: Buffer = Buffer.alloc(0)
    client.on('data', (bytes: Buffer) => {
      waiting = Buffer.concat([waiting, bytes])
      while (waiting.length >= HEADER_OCTETS && waiting.length >= waiting.readInt32LE(0)) {
        const message = waiting.subarray(0, waiting.readInt32LE(0))
        waiting = waiting.subarray(message.length)
        const command = commandOf(message)
        if (command !== undefined && !READING.has(command)) {
          writes.push(command)
          return end()
        }
        reads += 1
        database.write(message)
      }
    })
  })
  return {
    url: proxy.url,
    writes,
    get reads() {
      return reads
    },
    close: proxy.close,
  }
}

/** Undefined for the handshake of old servers, which is no OP_MSG. */
function commandOf(message: Buffer): string | undefined {
  if (message.readInt32LE(12) !== OP_MSG.code) return undefined
  const document = message.subarray(OP_MSG.document)
  return Object.keys(deserialize(document.subarray(0, document.readInt32LE(0))))[0]
}
