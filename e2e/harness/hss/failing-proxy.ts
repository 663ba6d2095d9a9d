import { startTcpProxy } from '../tcp-proxy.ts'

/** A way to the database on which writes get lost. */
export interface FailingProxy {
  readonly url: string
  /** Share of the writes that fail, 0 to 1: half of those before the database has them, half after. */
  share: number
  /** Whether nobody gets through at all. */
  isCut: boolean
  /** Writes that failed so far. */
  readonly failed: number
  close(): Promise<void>
}

/** The command of a write in a message of the MongoDB protocol: a BSON string named `update` (or `delete`). */
const WRITES = [Buffer.from('\x02update\0'), Buffer.from('\x02delete\0')]

/** Starts a proxy in front of the database on `port`. */
export async function startFailingProxy(port: number): Promise<FailingProxy> {
  const state = { share: 0, failed: 0, isCut: false }
  const proxy = await startTcpProxy(
    () => port,
    (client, database, end) => {
      if (state.isCut) return end()
      database.pipe(client)
      let isMute = false
      client.on('data', (bytes: Buffer) => {
        if (isMute) return
        const isFailing = WRITES.some((mark) => bytes.includes(mark)) && Math.random() < state.share
        if (!isFailing) {
          database.write(bytes)
          return
        }
        state.failed += 1
        if (state.failed % 2 === 0) return end()
        // The database does what it has, and nobody hears of it.
        isMute = true
        database.end(bytes)
        client.destroy()
      })
    },
  )
  return {
    url: `mongodb://127.0.0.1:${proxy.port}`,
    get share() {
      return state.share
    },
    set share(share) {
      state.share = share
    },
    get isCut() {
      return state.isCut
    },
    set isCut(isCut) {
      state.isCut = isCut
      if (isCut) proxy.cut()
    },
    get failed() {
      return state.failed
    },
    close: proxy.close,
  }
}
