import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

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
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer((near) => {
    keep(near)
    near.on('error', () => near.destroy())
    if (port === undefined) return near.destroy()
    const far = connect(port, '127.0.0.1')
    keep(far)
    near.pipe(far).pipe(near)
    far.on('error', () => near.destroy())
    far.on('close', () => near.destroy())
    near.on('close', () => far.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: (url) => {
      port = url === undefined ? undefined : Number(new URL(url).port)
    },
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cut()
      }),
  }
}
