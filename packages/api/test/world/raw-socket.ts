import { connect, type Socket } from 'node:net'

/** A connection of its own, below HTTP. */
export interface Raw {
  write(text: string): void
  /** What came back so far. */
  text(): string
  /** Resolves when the other side has closed. */
  readonly closed: Promise<void>
  /** Reads no further. */
  pause(): void
  end(): void
  destroy(): void
}

/** Opens a connection to the loopback port. */
export async function rawConnection(port: number): Promise<Raw> {
  const socket: Socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  // A reset is one of the ways in which the other side closes.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()))
  return {
    write: (chunk) => {
      socket.write(chunk, 'latin1')
    },
    text: () => text,
    closed,
    pause: () => {
      socket.pause()
    },
    end: () => {
      socket.end()
    },
    destroy: () => {
      socket.destroy()
    },
  }
}

/** Sends text and gives all that comes back until the other side closes. */
export async function rawExchange(
  port: number,
  text: string,
  how: { readonly halfClose?: boolean } = {},
): Promise<string> {
  const connection = await rawConnection(port)
  connection.write(text)
  if (how.halfClose !== false) connection.end()
  await connection.closed
  return connection.text()
}
