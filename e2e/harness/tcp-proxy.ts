import { connect, createServer, type Socket } from 'node:net'
import { listen } from '@steeple/testkit'

/** An address that stays while the service behind it comes and goes, and whose connections can be cut. */
export interface Relay {
  readonly url: string
  /** Where further connections go; undefined hangs up on them. */
  target(url: string | undefined): void
  /** Ends every connection at once, without a word. */
  cut(): void
  close(): Promise<void>
}

/** Starts it on a free port of loopback, with nothing behind it yet. */
export async function startRelay(): Promise<Relay> {
  let port: number | undefined
  const proxy = await startTcpProxy(() => port)
  return {
    url: `http://127.0.0.1:${proxy.port}`,
    target: (url) => {
      port = url === undefined ? undefined : Number(new URL(url).port)
    },
    cut: proxy.cut,
    close: proxy.close,
  }
}

/** A port of loopback in front of another one. */
export interface TcpProxy {
  readonly port: number
  /** Ends every connection at once, without a word. */
  cut(): void
  close(): Promise<void>
}

/** Hands on what the two ends of a connection say; `end` ends both. */
export type Join = (near: Socket, far: Socket, end: () => void) => void

const asItComes: Join = (near, far) => {
  near.pipe(far)
  far.pipe(near)
}

/** Starts it in front of `target`, which is asked at each connection; undefined hangs up. */
export async function startTcpProxy(
  target: () => number | undefined,
  join: Join = asItComes,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  const server = createServer((near) => {
    const port = target()
    if (port === undefined) return near.on('error', () => undefined).destroy()
    const far = connect(port, '127.0.0.1')
    const end = (): void => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    return join(near, far, end)
  })
  const { port, close } = await listen(server)
  return {
    port,
    cut,
    close: async () => {
      const closed = close()
      cut()
      await closed
    },
  }
}
